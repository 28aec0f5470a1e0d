import { invariant } from "../lib/invariant.ts";

/** Tasks fetched ahead (docs/design/fetch-ahead.md). */
export const aheadLimits = {
  heldPerNodeMax: 128, // tasks that an agent holds beyond its free capacity
  paceTasksMin: 4, // that ended on a node, one after the other, before it holds any
  paceTasksMax: 32, // about the last so many say how long tasks take there
  aheadTaskMsMax: 100, // longer ones lose little to the round trip
  aheadMs: 50, // as many are held as end in this time, at least as many as run
  reportOfReplacedMs: 20, // an end whose slot went to a held task waits for others: a message, and a commit
  heldMsMax: 1_000, // a task that its node has not begun by then is taken back
  takeBackMsMax: 20_000, // a session whose agent has not answered by then is closed, to bring both in step
} as const;

invariant(
  aheadLimits.reportOfReplacedMs < aheadLimits.aheadMs &&
    aheadLimits.aheadMs < aheadLimits.aheadTaskMsMax &&
    aheadLimits.aheadTaskMsMax < aheadLimits.heldMsMax &&
    aheadLimits.paceTasksMin <= aheadLimits.paceTasksMax,
  "what is held lasts until the next work, and is begun before it is taken back",
);
