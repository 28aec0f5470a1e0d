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

/** Bounds of a JSON text of a client; `limits` has them. */
export interface JsonBounds {
  /** Objects and lists inside each other. */
  readonly jsonDepthMax: number;
  /** Objects, lists and keys. Absent: any number, for threads that may take their time. */
  readonly jsonPartsMax?: number;
}

/** A JSON text has more objects, lists and keys than this thread parses at once. */
export class JsonTooLarge extends SyntaxError {}

/**
 * `JSON.parse` for texts of clients. Rejects a text beyond the bounds, also with a SyntaxError, before it parses: parsing 4 MB of brackets
 * or of empty objects takes up to seconds, finding that they are too many takes milliseconds.
 */
export function parseBoundedJson(text: string, bounds: JsonBounds): unknown {
  checkBounds(text, bounds);
  return JSON.parse(text);
}

/** Throws SyntaxError, JsonTooLarge for too many parts. */
export function checkBounds(text: string, bounds: JsonBounds): void {
  const { jsonDepthMax, jsonPartsMax = Infinity } = bounds;
  let depth = 0;
  let parts = 0;
  eachMark(text, (code) => {
    if (isClosing(code)) depth -= 1;
    else if (code !== COMMA) parts += 1;
    if (isOpening(code)) depth += 1;
    return depth <= jsonDepthMax && parts <= jsonPartsMax;
  });
  if (depth > jsonDepthMax) {
    throw new SyntaxError(`objects and arrays are nested more than ${jsonDepthMax} levels deep`);
  }
  if (parts > jsonPartsMax) {
    throw new JsonTooLarge(`more than ${jsonPartsMax} objects, arrays and keys; send less at once`);
  }
}

/** Calls `visit` for each bracket, comma and colon outside strings, until it returns false. */
export function eachMark(text: string, visit: (code: number, at: number) => boolean): void {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (isMark(code) && !visit(code, at)) return;
  }
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
export const COMMA = 0x2c;

const isMark = (code: number): boolean =>
  code === COMMA || code === COLON || isOpening(code) || isClosing(code);
export const isOpening = (code: number): boolean => code === OPEN_OBJECT || code === OPEN_LIST;
export const isClosing = (code: number): boolean => code === CLOSE_OBJECT || code === CLOSE_LIST;

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
