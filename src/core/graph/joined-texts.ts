/** Texts joined into one: a million small strings are slow to pass between threads. */
export interface JoinedTexts {
  readonly text: string;
  readonly lengths: Int32Array;
}

/** The number of texts or vertices to process before other work gets a turn. */
export const SLICE = 20_000;

export const joinTexts = (texts: readonly string[]): JoinedTexts => ({
  text: texts.join(""),
  lengths: Int32Array.from(texts, ({ length }) => length),
});

export function* splitTexts({
  text,
  lengths,
}: JoinedTexts): Generator<undefined, readonly string[]> {
  const texts: string[] = [];
  let from = 0;
  for (let at = 0; at < lengths.length; at++) {
    if (at % SLICE === SLICE - 1) yield;
    const to = from + (lengths[at] ?? 0);
    texts.push(text.slice(from, to));
    from = to;
  }
  return texts;
}

/**
 * A list of texts with many duplicates: each text once, and the index of the text at each position;
 * -1 for none.
 */
export interface SharedTexts {
  readonly texts: JoinedTexts;
  readonly textOf: Int32Array;
}

export function shareTexts(all: readonly (string | undefined)[]): SharedTexts {
  const numbers = new Map<string, number>();
  const textOf = Int32Array.from(all, (text) => {
    if (text === undefined) return -1;
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  });
  return { texts: joinTexts([...numbers.keys()]), textOf };
}

export const buffersOf = (...joined: readonly JoinedTexts[]): ArrayBuffer[] =>
  joined.map(({ lengths }) => lengths.buffer as ArrayBuffer);
