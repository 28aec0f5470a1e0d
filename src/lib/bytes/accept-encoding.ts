/**
 * Whether a client that sends this Accept-Encoding takes gzip and does not prefer plain bytes. Only if
 * it names gzip: a bare `*` is no sign that it can decode a stream as it comes.
 */
export function acceptsGzip(header: string | undefined): boolean {
  let gzip = 0;
  let identity = 0;
  for (const item of header?.split(",") ?? []) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    if (name === "gzip" || name === "x-gzip") gzip = Math.max(gzip, weightOf(parameters));
    else if (name === "identity") identity = weightOf(parameters);
  }
  return gzip > 0 && gzip >= identity;
}

/** Between 0 and 1, and 0 where it cannot be read. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (weight === undefined) return 1;
  const [, value] = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(weight) ?? [];
  return value === undefined ? 0 : Math.min(Number(value), 1);
}
