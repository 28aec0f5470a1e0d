/**
 * Whether a value would have more than `charsMax` characters as JSON, about: escapes count as one.
 * Stops as soon as it is known, so that the answer never costs more than what is allowed.
 */
export function isLongerJson(value: unknown, charsMax: number): boolean {
  return charsLeft(value, charsMax) < 0;
}

/** Whether objects and lists stand in each other more than `depthMax` times; never looks deeper. */
export function isDeeperJson(value: unknown, depthMax: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depthMax === 0) return true;
  return Object.values(value).some((inner) => isDeeperJson(inner, depthMax - 1));
}

function charsLeft(value: unknown, left: number): number {
  if (left < 0) return left;
  if (typeof value === "string") return left - value.length - 2;
  if (typeof value !== "object" || value === null) return left - String(value).length;
  let rest = left - 1; // both brackets, without the comma of the first
  if (Array.isArray(value)) {
    for (const item of value as readonly unknown[]) {
      rest = charsLeft(item, rest - 1);
      if (rest < 0) break;
    }
    return rest;
  }
  for (const key in value) {
    rest = charsLeft((value as Readonly<Record<string, unknown>>)[key], rest - key.length - 4);
    if (rest < 0) break;
  }
  return rest;
}
