import { HpackError } from "./hpack-error.ts";

/** Bits of the code of each byte, and of the end of a text (256): RFC 7541, appendix B. */
const BITS = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5,
  6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
  7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6,
  7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
  23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22,
  22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22,
  23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27,
  27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25,
  24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
] as const;

const END_OF_TEXT = 256;
const BITS_MAX = 30;
const PADDING_BITS_MAX = 7;

/** Codes of one length are consecutive numbers, in the order of their symbols. */
interface Length {
  readonly firstCode: number;
  readonly symbols: readonly number[];
}

const LENGTHS: readonly Length[] = lengths();

function lengths(): Length[] {
  const table: Length[] = [];
  let code = 0;
  for (let bits = 0; bits <= BITS_MAX; bits++) {
    code *= 2;
    const symbols = BITS.flatMap((each, symbol) => (each === bits ? [symbol] : []));
    table.push({ firstCode: code, symbols });
    code += symbols.length;
  }
  return table;
}

/** One character for each byte. */
export function decodeHuffman(bytes: Buffer): string {
  const text: number[] = [];
  let code = 0;
  let bits = 0;
  let isPadding = true; // only ones since the last symbol
  for (const byte of bytes) {
    for (let mask = 0x80; mask > 0; mask >>= 1) {
      const bit = (byte & mask) === 0 ? 0 : 1;
      isPadding &&= bit === 1;
      code = code * 2 + bit;
      bits++;
      const { firstCode = 0, symbols = [] } = LENGTHS[bits] ?? {};
      const symbol = symbols[code - firstCode];
      if (symbol === END_OF_TEXT || bits > BITS_MAX) {
        throw new HpackError("a text has its end mark inside");
      }
      if (symbol === undefined) continue;
      text.push(symbol);
      [code, bits, isPadding] = [0, 0, true];
    }
  }
  if (bits > PADDING_BITS_MAX || !isPadding) throw new HpackError("a text ends within a symbol");
  return Buffer.from(text).toString("latin1");
}

/** The code of a byte and its bits, for encoders of tests. */
export function huffmanCodeOf(byte: number): { readonly code: number; readonly bits: number } {
  const bits = BITS[byte] ?? BITS_MAX;
  const { firstCode = 0, symbols = [] } = LENGTHS[bits] ?? {};
  return { code: firstCode + symbols.indexOf(byte), bits };
}
