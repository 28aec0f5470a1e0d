import { invariant } from "../lib/invariant.ts";

/** Tasks fetched ahead (docs/design/fetch-ahead.md). */
export const aheadLimits = {
  heldPerNodeMax: 128, // tasks that an agent holds beyond its free capacity
  runTimesMin: 4, // tasks that must end on a node, one after the other, before it holds any
  runTimesMax: 32, // the mean time of tasks on a node is over about the last so many
  aheadTaskMsMax: 100, // longer tasks lose little to the round trip
  aheadMs: 50, // a node holds as many tasks as end in this time, and at least as many as run
  reportOfReplacedMs: 20, // the report of an end waits this long for others when a held task has its slot: fewer messages and commits
  heldMsMax: 1_000, // the server takes back a task that its node has not begun by then
  takeBackMsMax: 20_000, // the server closes a session whose agent has not answered by then, so that both sides agree again
} as const;

invariant(
  aheadLimits.reportOfReplacedMs < aheadLimits.aheadMs &&
    aheadLimits.aheadMs < aheadLimits.aheadTaskMsMax &&
    aheadLimits.aheadTaskMsMax < aheadLimits.heldMsMax &&
    aheadLimits.runTimesMin <= aheadLimits.runTimesMax,
  "what is held lasts until the next work, and is begun before it is taken back",
);
