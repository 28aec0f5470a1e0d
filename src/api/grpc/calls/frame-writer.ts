const HEAD_BYTES = 5;
const TEXT = 2;

const numberBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
};

/** The bytes of a field with so many bytes inside; empty fields are left out. Fields below 16 only. */
export const fieldBytes = (bytes: number): number =>
  bytes === 0 ? 0 : 1 + numberBytes(bytes) + bytes;

/** Writes one message of known size into a gRPC frame, where messages are small and many. Leaves out empty fields. */
export class FrameWriter {
  readonly #frame: Buffer;
  #at = HEAD_BYTES;

  constructor(messageBytes: number) {
    this.#frame = Buffer.allocUnsafe(HEAD_BYTES + messageBytes);
    this.#frame[0] = 0;
    this.#frame.writeUInt32BE(messageBytes, 1);
  }

  /** Begins a nested message of so many bytes: the next writes go into it. */
  inside(field: number, bytes: number): this {
    return this.#number(field * 8 + TEXT).#number(bytes);
  }

  number(field: number, value: number): this {
    return value === 0 ? this : this.#number(field * 8).#number(value);
  }

  /** `bytes`: the encoded length of the text. */
  text(field: number, text: string, bytes: number): this {
    if (bytes === 0) return this;
    this.inside(field, bytes);
    this.#at += this.#frame.write(text, this.#at);
    return this;
  }

  /** The complete frame. */
  end(): Buffer {
    return this.#frame;
  }

  #number(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
      this.#frame[this.#at++] = (rest % 0x80) | 0x80;
    }
    this.#frame[this.#at++] = rest;
    return this;
  }
}
