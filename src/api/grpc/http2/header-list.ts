import { encodeLiterals } from "../../../lib/http2/literal-fields.ts";

type Fields = Readonly<Record<string, string | number>>;

/** Refers to ":status: 200" of the static table. */
const STATUS_200 = Buffer.of(0x88);

/** Headers or trailers of an answer. Encoded at most once, however many answers have them. */
export class HeaderList {
  readonly fields: Fields;
  #block: Buffer | undefined;

  constructor(fields: Fields) {
    this.fields = fields;
  }

  /** As a header block that refers to no table that could change: it means the same on every connection. */
  get block(): Buffer {
    return (this.#block ??= encode(this.fields));
  }

  with(more: Fields): HeaderList {
    return new HeaderList({ ...this.fields, ...more });
  }
}

function encode(fields: Fields): Buffer {
  const isOk = fields[":status"] === 200;
  const rest = Object.entries(fields).filter(([name]) => !isOk || name !== ":status");
  const literals = encodeLiterals(
    rest.map(([name, value]) => ({ name, value: printable(String(value)), isSensitive: false })),
  );
  return isOk ? Buffer.concat([STATUS_200, literals]) : literals;
}

/** One byte for each character: others would become bytes that end a line. */
const printable = (value: string): string => value.replace(/[^\x20-\x7e]/g, "?").trim();
