import type { HeaderField } from "../../../lib/http2/header-field.ts";

/**
 * Converts the user part of `:authority` as HTTP clients convert that of a URL: to Basic authentication, which replaces any other in the
 * request. HTTP/2 allows no user part (RFC 9113, 8.3.1).
 */
export function userPartToBasic(fields: readonly HeaderField[]): readonly HeaderField[] {
  const found = fields.findIndex(({ name, value }) => name === ":authority" && value.includes("@"));
  const field = fields[found];
  if (field === undefined) return fields;
  const at = field.value.lastIndexOf("@");
  const shown = Buffer.from(percentDecoded(field.value.slice(0, at))).toString("base64");
  const others = fields.filter(({ name }) => name.toLowerCase() !== "authorization");
  return [
    ...others.map((each) =>
      each === field ? { ...each, value: field.value.slice(at + 1) } : each,
    ),
    { name: "authorization", value: `Basic ${shown}`, isSensitive: true },
  ];
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
