/** One header of a request; one character for each byte. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  /** The client asked that no proxy puts it into a table. */
  readonly isSensitive: boolean;
}

/** The size of a field in tables and in lists: RFC 7541, section 4.1. */
export const sizeOf = ({ name, value }: HeaderField): number => name.length + value.length + 32;
