import { invalid, unprocessable } from "../../../lib/errors.ts";

/** Indexes first, first + step, … up to last. */
export interface IndexRange {
  readonly first: number;
  readonly last: number;
  readonly step: number;
}

/**
 * The indexes of an array job, stored as ranges so that a million tasks cost no more than one. Ranges
 * are ascending and do not overlap.
 */
export type IndexRanges = readonly IndexRange[];

export const SINGLE: IndexRanges = Object.freeze([Object.freeze({ first: 0, last: 0, step: 1 })]);

const countOf = (range: IndexRange): number =>
  Math.floor((range.last - range.first) / range.step) + 1;

export const countIndexes = (ranges: IndexRanges): number =>
  ranges.reduce((sum, range) => sum + countOf(range), 0);

/** The index at a position (0-based), or undefined past the end. */
export function indexAt(ranges: IndexRanges, position: number): number | undefined {
  let left = position;
  for (const range of ranges) {
    const count = countOf(range);
    if (left < count) return range.first + left * range.step;
    left -= count;
  }
  return undefined;
}

/** The number of indexes below `index`: its position, or where to insert it. */
export function positionOf(ranges: IndexRanges, index: number): number {
  let before = 0;
  for (const range of ranges) {
    if (index > range.last) before += countOf(range);
    else if (index > range.first) return before + Math.ceil((index - range.first) / range.step);
    else return before;
  }
  return before;
}

export function hasIndex(ranges: IndexRanges, index: number): boolean {
  for (const { first, last, step } of ranges) {
    if (index <= last) return index >= first && (index - first) % step === 0;
  }
  return false;
}

export interface ArrayLimits {
  readonly tasksMax: number;
  readonly indexMax: number;
}

const RANGE = " *([0-9]{1,10})(?:-([0-9]{1,10})(?::([1-9][0-9]{0,9}))?)? *";
const PART = new RegExp(`^${RANGE}$`);
/** The format of an array. A pattern cannot check that its ranges ascend and do not overlap. */
export const ARRAY_PATTERN = `^${RANGE}(,${RANGE})*(%[1-9][0-9]{0,9})?$`;
const SHAPE = 'use a form like "0-99", "1-9:2" or "0-3,8,10-12"';
const PARTS_MAX = 1_000;

/** A parsed array: its indexes, and how many of its tasks may be active at once. */
export interface ArrayTerms {
  readonly array: IndexRanges;
  /** undefined: any number. */
  readonly tasksAtOnce: number | undefined;
}

/** Parses "0-99%5"; "%5" is optional. */
export function parseArray(text: string, field: string, limits: ArrayLimits): ArrayTerms {
  const [ranges = "", most, ...others] = text.split("%");
  if (most === undefined)
    return { array: parseIndexRanges(text, field, limits), tasksAtOnce: most };
  if (others.length > 0 || !/^[1-9][0-9]{0,9}$/.test(most)) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw invalid(field, `${shown} does not end in a number of tasks at once, like 0-99%5`);
  }
  return { array: parseIndexRanges(ranges, field, limits), tasksAtOnce: Number(most) };
}

export const formatArray = ({ array, tasksAtOnce }: ArrayTerms): string =>
  formatIndexRanges(array) + (tasksAtOnce === undefined ? "" : `%${tasksAtOnce}`);

/** Parses "0-99", "1-9:2", "0-3,8". Parts may come in any order but must not overlap. */
export function parseIndexRanges(text: string, field: string, limits: ArrayLimits): IndexRanges {
  const parts = text.split(",");
  if (parts.length > PARTS_MAX) throw unprocessable(field, `at most ${PARTS_MAX} parts`);
  const ranges = parts.map((part) => parsePart(part, field, limits));
  ranges.sort((a, b) => a.first - b.first);
  for (const [at, range] of ranges.entries()) {
    const before = ranges[at - 1];
    if (before !== undefined && range.first <= before.last) {
      throw unprocessable(field, `parts overlap at ${range.first}`);
    }
  }
  const count = countIndexes(ranges);
  if (count > limits.tasksMax)
    throw unprocessable(field, `at most ${limits.tasksMax} tasks, not ${count}`);
  return ranges;
}

function parsePart(part: string, field: string, limits: ArrayLimits): IndexRange {
  const match = PART.exec(part);
  if (match === null) {
    throw invalid(field, `${JSON.stringify(part.slice(0, 40))} is not a range; ${SHAPE}`);
  }
  const first = Number(match[1]);
  const last = match[2] === undefined ? first : Number(match[2]);
  const step = match[3] === undefined ? 1 : Number(match[3]);
  if (last < first) throw unprocessable(field, `${part} ends before it begins`);
  if (last > limits.indexMax)
    throw unprocessable(field, `indexes go up to ${limits.indexMax}, not ${last}`);
  // Normalised so that `last` is itself an index.
  return { first, last: first + Math.floor((last - first) / step) * step, step };
}

/** Ascending indexes as ranges: indexes with equal distances become one range. */
export function indexesToRanges(indexes: readonly number[], field: string): IndexRanges {
  const ranges: { first: number; last: number; step: number }[] = [];
  for (const index of indexes) {
    const range = ranges.at(-1);
    if (range?.first === range?.last && range !== undefined) {
      range.step = index - range.first;
      range.last = index;
    } else if (range !== undefined && index - range.last === range.step) range.last = index;
    else ranges.push({ first: index, last: index, step: 1 });
  }
  if (ranges.length <= PARTS_MAX) return ranges.flatMap(splitPair);
  throw unprocessable(field, `its tasks make ${ranges.length} ranges; at most ${PARTS_MAX}`);
}

/** Writes a range of two distant indexes as two. */
const splitPair = ({ first, last, step }: IndexRange): IndexRange[] =>
  step > 1 && last - first === step
    ? [first, last].map((index) => ({ first: index, last: index, step: 1 }))
    : [{ first, last, step }];

export const formatIndexRanges = (ranges: IndexRanges): string =>
  ranges
    .map(({ first, last, step }) =>
      first === last ? `${first}` : step === 1 ? `${first}-${last}` : `${first}-${last}:${step}`,
    )
    .join(",");
