/**
 * Whether a value has more than about `charsMax` characters as JSON; an escape counts as one. Stops at the limit, so that the cost is
 * bounded by the limit and not by the value.
 */
export function isLongerJson(value: unknown, charsMax: number): boolean {
  return charsLeft(value, charsMax) < 0;
}

/** Whether objects and lists are nested more than `depthMax` times; never looks deeper. */
export function isDeeperJson(value: unknown, depthMax: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depthMax === 0) return true;
  return Object.values(value).some((inner) => isDeeperJson(inner, depthMax - 1));
}

/**
 * `JSON.parse` for texts of clients. Rejects nesting of more than `depthMax` levels, also with a SyntaxError, before it parses: parsing
 * 4 MB of brackets takes seconds, finding that they are too many takes milliseconds.
 */
export function parseShallowJson(text: string, depthMax: number): unknown {
  if (isDeeperText(text, depthMax)) {
    throw new SyntaxError(`objects and arrays are nested more than ${depthMax} levels deep`);
  }
  return JSON.parse(text);
}

/** Whether a JSON text has more levels. */
export function isDeeperText(text: string, depthMax: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        if (++depth > depthMax) return true;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        depth--;
        break;
      default:
    }
  }
  return false;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Where the string that begins at `start` ends: at the next quote that is not escaped. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let first = at;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((at - first) % 2 === 0) return at;
  }
  return text.length;
}

function charsLeft(value: unknown, left: number): number {
  if (left < 0) return left;
  if (typeof value === "string") return left - value.length - 2;
  if (typeof value !== "object" || value === null) return left - String(value).length;
  let rest = left - 1; // both brackets; the first item has no comma
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
