/** A field as tests write it: a number is a varint, the others have a length. */
export type Field = readonly [number: number, value: number | string | Uint8Array];

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

/** The bytes of a message of these fields, in this order. */
export const bytesOf = (...fields: readonly Field[]): Buffer =>
  Buffer.concat(
    fields.flatMap(([number, value]) => {
      if (typeof value === "number") return [varint(number * 8), varint(value)];
      const bytes = Buffer.from(value as Uint8Array);
      return [varint(number * 8 + 2), varint(bytes.length), bytes];
    }),
  );

/** google.protobuf.Timestamp of November 2026. */
export const SENT = bytesOf([1, 1_794_800_000], [2, 5]);

type Form = "varint" | "text" | "texts";

/** The fields that a decoder with these descriptors reads: a field of another wire type is put aside, as in Go and Python, and counted. */
export function readAs(
  known: Readonly<Record<number, readonly [name: string, form: Form]>>,
  bytes: Uint8Array,
): Readonly<Record<string, unknown>> {
  const read: Record<string, unknown> = {};
  let aside = 0;
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = number();
    const [name, form] = known[Math.floor(tag / 8)] ?? ["", "varint"];
    if (tag % 8 === 0) {
      const value = number();
      if (name !== "" && form === "varint") read[name] = value;
      else aside++;
      continue;
    }
    const length = number();
    const text = Buffer.from(bytes.subarray(at, (at += length))).toString();
    if (name === "" || form === "varint") aside++;
    else if (form === "text") read[name] = text;
    else read[name] = [...((read[name] as string[] | undefined) ?? []), text];
  }
  return aside === 0 ? read : { ...read, aside };
}
