const HEAD_BYTES = 5;
const TEXT = 2;

const numberBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
};

/** Of a field with so many bytes inside; fields with none are left out. Fields below 16 only. */
export const fieldBytes = (bytes: number): number =>
  bytes === 0 ? 0 : 1 + numberBytes(bytes) + bytes;

/** Puts one message of known size into a frame of gRPC, where messages are small and many. Empty fields are left out. */
export class FrameWriter {
  readonly #frame: Buffer;
  #at = HEAD_BYTES;

  constructor(messageBytes: number) {
    this.#frame = Buffer.allocUnsafe(HEAD_BYTES + messageBytes);
    this.#frame[0] = 0;
    this.#frame.writeUInt32BE(messageBytes, 1);
  }

  /** A message inside this one, of so many bytes: what is written next. */
  inside(field: number, bytes: number): this {
    return this.#number(field * 8 + TEXT).#number(bytes);
  }

  number(field: number, value: number): this {
    return value === 0 ? this : this.#number(field * 8).#number(value);
  }

  /** `bytes`: as many as the text takes. */
  text(field: number, text: string, bytes: number): this {
    if (bytes === 0) return this;
    this.inside(field, bytes);
    this.#at += this.#frame.write(text, this.#at);
    return this;
  }

  /** The frame, which is full by now. */
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
