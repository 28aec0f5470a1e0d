/** Neighbouring positions of an array; its first task has position 0. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/**
 * A user holds tasks of a job in the queue until they are released. Running tasks continue; a task that
 * returns to the queue stays there.
 */
export interface UserHold {
  readonly by: string;
  readonly atMs: number;
  readonly reason: string;
  /** Ascending and disjoint; absent: the whole job. */
  readonly tasks?: readonly Span[];
}

export const isWhollyHeld = (hold: UserHold | undefined): boolean =>
  hold !== undefined && hold.tasks === undefined;

/** Whether the task at a position is held. */
export const isHeldAt = (hold: UserHold | undefined, position: number): boolean =>
  hold !== undefined &&
  (hold.tasks === undefined || heldSpanAt(hold.tasks, position) !== undefined);

/** The span that contains a position. */
export function heldSpanAt(spans: readonly Span[], position: number): Span | undefined {
  let low = 0;
  let high = spans.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const span = spans[middle];
    if (span === undefined) return undefined;
    if (position < span.first) high = middle - 1;
    else if (position > span.last) low = middle + 1;
    else return span;
  }
  return undefined;
}

/** With one position more. */
export function withPosition(spans: readonly Span[], position: number): readonly Span[] {
  if (heldSpanAt(spans, position) !== undefined) return spans;
  let joined: Span = { first: position, last: position };
  const others: Span[] = [];
  for (const span of spans) {
    if (span.last === position - 1) joined = { ...joined, first: span.first };
    else if (span.first === position + 1) joined = { ...joined, last: span.last };
    else others.push(span);
  }
  return [...others, joined].sort((a, b) => a.first - b.first);
}

/** With one position less. */
export const withoutPosition = (spans: readonly Span[], position: number): readonly Span[] =>
  spans.flatMap(({ first, last }) => {
    if (position < first || position > last) return [{ first, last }];
    return [
      ...(first < position ? [{ first, last: position - 1 }] : []),
      ...(position < last ? [{ first: position + 1, last }] : []),
    ];
  });

/** How many tasks of a job are held. */
export function countHeld(hold: UserHold | undefined, taskTotal: number): number {
  if (hold === undefined) return 0;
  if (hold.tasks === undefined) return taskTotal;
  return hold.tasks.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}
