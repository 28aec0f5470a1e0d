import { limits } from "../../../limits.ts";
import { invalid } from "../../../lib/errors.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { checkValue, PRINTABLE, visible } from "../texts.ts";

/** What somebody says of how far a task is: a percentage of its own, and a few words. */
export interface ToldProgress {
  /** 0 to 100, in hundredths. */
  readonly percent: number;
  /** "": none. */
  readonly message: string;
}

/** The last reported progress of an attempt. */
export interface TaskProgress extends ToldProgress {
  /** When the server heard it; absent: the attempt has ended. */
  readonly atMs?: number;
}

export const PERCENT_RULE = { minimum: 0, maximum: 100 } as const satisfies Rule;
export const PROGRESS_MESSAGE_RULE = {
  maxLength: limits.progressMessageLengthMax,
  pattern: PRINTABLE,
} as const satisfies Rule;

/** For callers, who receive an error that says what is wrong. */
export function checkProgress(percent: number, message: string, path = ""): ToldProgress {
  const read = readPercent(percent);
  if (read === undefined) {
    throw invalid(`${path}percent`, `must be from 0 to 100, not ${percent}`);
  }
  checkValue(message, `${path}message`, limits.progressMessageLengthMax);
  return { percent: read, message };
}

/** Of tasks and agents, who are not: a number that cannot be is undefined, a text is made safe to show. */
export function readProgress(percent: number, message: string): ToldProgress | undefined {
  const read = readPercent(percent);
  if (read === undefined) return undefined;
  return { percent: read, message: visible(message, limits.progressMessageLengthMax) };
}

/** Down to hundredths: nothing looks complete before it is. */
function readPercent(percent: number): number | undefined {
  if (!(percent >= 0 && percent <= 100)) return undefined;
  return Math.floor(percent * 100 + 1e-6) / 100;
}

const LINE = /^\s*\+?(\d{1,3}(?:\.\d{0,15})?)\s*%?(?:\s+(.*?))?\s*$/su;

/** A line that a task wrote: `40`, `40 step 3`, `40.5% step 3`. Undefined: it is not one. */
export function parseProgressLine(line: string): ToldProgress | undefined {
  const [, percent, message = ""] = LINE.exec(line) ?? [];
  return percent === undefined ? undefined : readProgress(Number(percent), message);
}

/**
 * The progress of an attempt after it was told something: undefined when that changes nothing. It never
 * goes back: a smaller percentage than the known one came late.
 */
export function advance(
  known: TaskProgress | undefined,
  { percent, message }: ToldProgress,
  atMs: number,
): TaskProgress | undefined {
  if (known === undefined) return { percent, message, atMs };
  if (percent < known.percent) return undefined;
  if (percent === known.percent && message === known.message) return undefined;
  return { percent, message, atMs };
}

/** Of an attempt that has ended: many end alike, and are kept together. */
export const final = ({ percent, message }: ToldProgress): TaskProgress => ({ percent, message });

/** In whole hundredths, whose sums are exact. */
export const hundredths = (percent: number): number => Math.round(percent * 100);

/** How far several parts are together, each by its weight; 0 when nothing has any. */
export function meanPercent(
  parts: Iterable<{ readonly percent: number; readonly weight: number }>,
): number {
  let done = 0;
  let total = 0;
  for (const { percent, weight } of parts) {
    done += hundredths(percent) * weight;
    total += weight;
  }
  return total === 0 ? 0 : Math.floor(done / total + 1e-9) / 100;
}
