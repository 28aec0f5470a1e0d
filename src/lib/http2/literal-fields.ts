import type { HeaderField } from "./header-field.ts";

/** Writes each field in full and without any table, so that it means the same to every decoder (RFC 7541, 6.2.2 and 6.2.3). */
export function encodeLiterals(fields: readonly HeaderField[]): Buffer {
  const parts: Buffer[] = [];
  for (const { name, value, isSensitive } of fields) {
    parts.push(isSensitive ? SENSITIVE : PLAIN, ...text(name), ...text(value));
  }
  return Buffer.concat(parts);
}

const PLAIN = Buffer.of(0x00);
const SENSITIVE = Buffer.of(0x10);

const text = (value: string): Buffer[] => [
  Buffer.from(encodeLength(value.length)),
  Buffer.from(value, "latin1"),
];

const PREFIX_MAX = 127;

function encodeLength(length: number): number[] {
  if (length < PREFIX_MAX) return [length];
  const bytes = [PREFIX_MAX];
  let rest = length - PREFIX_MAX;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}
