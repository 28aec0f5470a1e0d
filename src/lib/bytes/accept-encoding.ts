/**
 * Whether a client that sends this Accept-Encoding accepts gzip and does not prefer plain bytes. The header must name gzip: a bare `*` does
 * not show that the client can decode a stream as it arrives.
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

/** Between 0 and 1; 0 when the text is invalid. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (weight === undefined) return 1;
  const [, value] = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(weight) ?? [];
  return value === undefined ? 0 : Math.min(Number(value), 1);
}
