import { AppError } from "../../../lib/errors.ts";
import { asUndecodable } from "../../grpc/calls/codec.ts";

/** A field on the wire: a number, or a field with a length. Fixed widths are skipped. */
export type WireField =
  | { readonly number: number; readonly kind: "varint"; readonly value: number }
  | { readonly number: number; readonly kind: "bytes"; readonly value: Buffer };

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const VARINT_BYTES_MAX = 10;
/** A number that no field has. */
const NO_FIELD = 0;

const broken = (problem = "cannot parse invalid wire-format data"): AppError =>
  asUndecodable(new AppError("invalid_argument", problem));

/**
 * The fields of a message in order, without a descriptor: generations of clients use the same numbers for different fields, and a decoder
 * for one of them rejects the others.
 */
export const readFields = (message: Uint8Array): readonly WireField[] =>
  readFieldsAndRuns(message, NO_FIELD).fields;

/** The fields of a message, where those of one number with a length are left in runs. */
export interface FieldsAndRuns {
  readonly fields: readonly WireField[];
  /** Each the bytes of such fields that follow one another, with tags and lengths: `readFields` reads it. */
  readonly runs: readonly Buffer[];
}

/** For a message with hundreds of such fields, which the caller looks at as a whole. */
export function readFieldsAndRuns(message: Uint8Array, inRuns: number): FieldsAndRuns {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const fields: WireField[] = [];
  const runs: Buffer[] = [];
  let at = 0;
  let runStart = 0;
  let runEnd = 0; // none is open while both are equal
  const varint = (): number => {
    let value = 0;
    let scale = 1;
    for (let read = 0; read < VARINT_BYTES_MAX; read++) {
      const byte = bytes[at++];
      if (byte === undefined) throw broken();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw broken();
  };
  const skip = (count: number): void => {
    at += count;
    if (at > bytes.length) throw broken();
  };
  const endRun = (): void => {
    if (runEnd > runStart) runs.push(bytes.subarray(runStart, runEnd));
  };
  while (at < bytes.length) {
    const start = at;
    const tag = varint();
    const number = Math.floor(tag / 8);
    if (number === 0) throw broken();
    switch (tag % 8) {
      case VARINT:
        fields.push({ number, kind: "varint", value: varint() });
        break;
      case BYTES: {
        const length = varint();
        skip(length);
        if (number !== inRuns) {
          fields.push({ number, kind: "bytes", value: bytes.subarray(at - length, at) });
          break;
        }
        if (runEnd !== start) {
          endRun();
          runStart = start;
        }
        runEnd = at;
        break;
      }
      case FIXED64:
        skip(8);
        break;
      case FIXED32:
        skip(4);
        break;
      default:
        throw broken();
    }
  }
  endRun();
  return { fields, runs };
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function toText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw broken("string field contains invalid UTF-8");
  }
}

/** All fields of a number that have a length, in order. */
export function bytesOf(fields: readonly WireField[], number: number): readonly Buffer[] {
  const found: Buffer[] = [];
  for (const field of fields) {
    if (field.number === number && field.kind === "bytes") found.push(field.value);
  }
  return found;
}

/** As in protobuf: the last one counts, and an absent one is empty. */
export function textOf(fields: readonly WireField[], number: number): string {
  const last = fields.findLast((field) => field.number === number && field.kind === "bytes");
  return last?.kind === "bytes" ? toText(last.value) : "";
}

/** The last number of that field; undefined: there is none. A negative count is treated as absent. */
export function numberOf(fields: readonly WireField[], number: number): number | undefined {
  const last = fields.findLast((field) => field.number === number && field.kind === "varint");
  if (last?.kind !== "varint") return undefined;
  return last.value < 2 ** 31 ? last.value : 0;
}
