import type { FieldType, ValueType } from "../message-types.ts";

/** How the bytes of a field are laid out: protobuf's encoding. */
export const VARINT = 0;
export const FIXED64 = 1;
export const BYTES = 2;
export const FIXED32 = 5;

export function wireTypeOf(value: ValueType): number {
  if (value.kind === "message") return BYTES;
  if (value.kind === "enum") return VARINT;
  switch (value.scalar) {
    case "string":
    case "bytes":
      return BYTES;
    case "double":
      return FIXED64;
    case "bool":
    case "int32":
    case "uint32":
    case "int64":
      return VARINT;
  }
}

/** Numbers of a list share one tag and stand side by side. */
export const isPackable = ({ many, value }: FieldType): boolean =>
  many === "list" && wireTypeOf(value) !== BYTES;

/** Numbers of the fields of a map's entry. */
export const MAP_KEY = 1;
export const MAP_VALUE = 2;
