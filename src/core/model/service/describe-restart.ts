import { formatDuration } from "../../../lib/units.ts";
import { describeFailure, type Task } from "../job/task.ts";

/**
 * Why a task of a service waits: "restarts in 12 s: exited with code 1, 4th time". Undefined: it does not wait for a restart. Without
 * `nowMs` the text has no time.
 */
export function describeRestart(
  { state, restarts, past }: Task,
  nowMs?: number,
): string | undefined {
  const last = past.at(-1)?.failure;
  if (state.kind !== "waiting" || restarts === undefined || last === undefined) return undefined;
  const leftMs = nowMs === undefined ? 0 : state.notBeforeMs - nowMs;
  const when = leftMs > 0 ? ` in ${formatDuration(Math.ceil(leftMs / 1_000) * 1_000)}` : "";
  const why = describeFailure(last);
  if (last.kind === "lost" || last.kind === "vanished") return `is placed again${when}: ${why}`;
  return `restarts${when}: ${why}, ${ordinal(restarts.count)} time`;
}

/** 1st, 2nd, 3rd, 4th, 11th, 21st */
export function ordinal(count: number): string {
  const tens = count % 100;
  const ends = tens >= 11 && tens <= 13 ? undefined : ENDINGS[count % 10];
  return `${count}${ends ?? "th"}`;
}

const ENDINGS: Readonly<Record<number, string>> = { 1: "st", 2: "nd", 3: "rd" };
