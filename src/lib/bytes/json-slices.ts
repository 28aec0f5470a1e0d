import {
  checkBounds,
  COMMA,
  eachMark,
  isClosing,
  isOpening,
  type JsonBounds,
  JsonTooLarge,
} from "./json-size.ts";

/** Bounds of each slice, and of the text around the list. */
type SliceBounds = Required<JsonBounds>;

/**
 * Parses an object whose member `list` may be a long list, such as the jobs of a submission: the items are parsed some at a time, and other
 * work has its turn at each `yield`. Throws a SyntaxError for a text beyond the bounds. `parse` is `JSON.parse`, or a stricter one.
 */
export function* parseInSlices(
  text: string,
  list: string,
  bounds: SliceBounds,
  parse: (text: string) => unknown,
): Generator<undefined, unknown> {
  const found = isTooLarge(text, bounds) ? findList(text, list, bounds) : undefined;
  if (found === undefined) {
    checkBounds(text, bounds);
    return parse(text);
  }
  const { start, end, cuts } = found;
  const parsePart = (part: string, where: string): unknown => {
    try {
      checkBounds(part, bounds);
      return parse(part);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const Kind = error instanceof JsonTooLarge ? JsonTooLarge : SyntaxError;
      throw new Kind(`${where}: ${error.message}`, { cause: error });
    }
  };
  const around = parsePart(`${text.slice(0, start)}${text.slice(end)}`, `outside ${list}`);
  const items: unknown[] = [];
  let from = start;
  for (const to of [...cuts, end]) {
    yield;
    const where = `${list} after character ${from}`;
    const some = parsePart(`[${text.slice(from, to)}]`, where) as readonly unknown[];
    if (some.length === 0 && cuts.length > 0) throw new SyntaxError(`${where}: an item is missing`);
    for (const item of some) items.push(item);
    from = to + 1; // after the comma
  }
  return { ...(around as object), [list]: items };
}

/** Throws SyntaxError for a text that is too deep. */
function isTooLarge(text: string, bounds: SliceBounds): boolean {
  try {
    checkBounds(text, bounds);
    return false;
  } catch (error) {
    if (error instanceof JsonTooLarge) return true;
    throw error;
  }
}

interface FoundList {
  /** After the opening bracket. */
  readonly start: number;
  /** Of the closing bracket. */
  readonly end: number;
  /** Commas between items, each well before the bound of a slice is reached. */
  readonly cuts: readonly number[];
}

/** Undefined: the object has no such member, or it is no list, or there are several. */
function findList(text: string, list: string, bounds: SliceBounds): FoundList | undefined {
  const opening = new RegExp(`(?<!\\\\)${JSON.stringify(list)}\\s*:\\s*$`);
  const partsPerSlice = bounds.jsonPartsMax / 2;
  const cuts: number[] = [];
  let [depth, parts, start, end] = [0, 0, -1, -1];
  let isAlone = true;
  eachMark(text, (code, at) => {
    if (isOpening(code)) {
      depth += 1;
      const isTheList =
        depth === 2 && text[at] === "[" && opening.test(text.slice(Math.max(0, at - WINDOW), at));
      if (isTheList && start !== -1) isAlone = false;
      if (isTheList) [start, parts] = [at + 1, 0];
    } else if (isClosing(code)) {
      depth -= 1;
      if (depth === 1 && start !== -1 && end === -1) end = at;
    } else if (code === COMMA && depth === 2 && start !== -1 && end === -1) {
      if (parts >= partsPerSlice) {
        cuts.push(at);
        parts = 0;
      }
    }
    if (!isClosing(code) && code !== COMMA) parts += 1;
    return isAlone;
  });
  return isAlone && end !== -1 ? { start, end, cuts } : undefined;
}

/** Characters before a bracket in which its key is looked for. */
const WINDOW = 64;
