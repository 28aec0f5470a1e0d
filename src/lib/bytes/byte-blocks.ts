const BLOCK_BYTES_MIN = 1024;
const BLOCK_BYTES_MAX = 256 * 1024;

/**
 * Copies the bytes of a message into its own blocks. A chunk from a socket may be a few bytes of a large array, or one of millions of tiny
 * ones. Large blocks also go back to the operating system when they are freed.
 */
export class ByteBlocks {
  #blocks: Buffer[] = [];
  /** Bytes used in the last block. */
  #used = 0;
  length = 0;

  append(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.length > 0) {
      const block = this.#blockWithRoom();
      const part = rest.subarray(0, block.length - this.#used);
      block.set(part, this.#used);
      this.#used += part.length;
      this.length += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** The first bytes, at most as many as the first block holds. */
  get head(): Buffer {
    return (this.#blocks[0] ?? Buffer.alloc(0)).subarray(0, this.length);
  }

  /** Returns all bytes and empties the collection. */
  take(): Buffer {
    const all = Buffer.concat(this.#blocks, this.length);
    this.clear();
    return all;
  }

  clear(): void {
    this.#blocks = [];
    this.#used = 0;
    this.length = 0;
  }

  #blockWithRoom(): Buffer {
    const last = this.#blocks.at(-1);
    if (last !== undefined && this.#used < last.length) return last;
    const size = Math.min(BLOCK_BYTES_MAX, Math.max(BLOCK_BYTES_MIN, this.length));
    const block = Buffer.allocUnsafeSlow(size);
    this.#blocks.push(block);
    this.#used = 0;
    return block;
  }
}
