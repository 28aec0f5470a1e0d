import { limits } from "../../../limits.ts";
import { invalid } from "../../../lib/errors.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { checkValue, PRINTABLE, visible } from "../texts.ts";

/** A report of a task's progress: a percentage, and a short message. */
export interface ReportedProgress {
  /** 0 to 100, in hundredths. */
  readonly percent: number;
  /** "": none. */
  readonly message: string;
}

/** The last reported progress of an attempt. */
export interface TaskProgress extends ReportedProgress {
  /** The time at which the server received it; absent: the attempt has ended. */
  readonly atMs?: number;
}

export const PERCENT_RULE = { minimum: 0, maximum: 100 } as const satisfies Rule;
export const PROGRESS_MESSAGE_RULE = {
  maxLength: limits.progressMessageLengthMax,
  pattern: PRINTABLE,
} as const satisfies Rule;

/** For callers, who get an error that names the problem. */
export function checkProgress(percent: number, message: string, path = ""): ReportedProgress {
  const read = readPercent(percent);
  if (read === undefined) {
    throw invalid(`${path}percent`, `must be from 0 to 100, not ${percent}`);
  }
  checkValue(message, `${path}message`, limits.progressMessageLengthMax);
  return { percent: read, message };
}

/** For tasks and agents, which get no error: an invalid number is undefined, a text is made printable. */
export function readProgress(percent: number, message: string): ReportedProgress | undefined {
  const read = readPercent(percent);
  if (read === undefined) return undefined;
  return { percent: read, message: visible(message, limits.progressMessageLengthMax) };
}

/** Rounded down to hundredths: nothing looks complete before it is. */
function readPercent(percent: number): number | undefined {
  if (!(percent >= 0 && percent <= 100)) return undefined;
  return Math.floor(percent * 100 + 1e-6) / 100;
}

const LINE = /^\s*\+?(\d{1,3}(?:\.\d{0,15})?)\s*%?(?:\s+(.*?))?\s*$/su;

/** A line that a task wrote: `40`, `40 step 3`, `40.5% step 3`. Undefined: it is none. */
export function parseProgressLine(line: string): ReportedProgress | undefined {
  const [, percent, message = ""] = LINE.exec(line) ?? [];
  return percent === undefined ? undefined : readProgress(Number(percent), message);
}

/**
 * The progress of an attempt after a report; undefined when the report changes nothing. Progress never
 * decreases: a percentage below the known one is a late report.
 */
export function advance(
  known: TaskProgress | undefined,
  { percent, message }: ReportedProgress,
  atMs: number,
): TaskProgress | undefined {
  if (known === undefined) return { percent, message, atMs };
  if (percent < known.percent) return undefined;
  if (percent === known.percent && message === known.message) return undefined;
  return { percent, message, atMs };
}

/** For an ended attempt, without a time: many ends are equal, and are stored together. */
export const final = ({ percent, message }: ReportedProgress): TaskProgress => ({
  percent,
  message,
});

/** In whole hundredths, whose sums are exact. */
export const hundredths = (percent: number): number => Math.round(percent * 100);

/** The mean progress of several parts, each by its weight; 0 when there are none. */
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
