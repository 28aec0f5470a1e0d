import type { State } from "../gen/busbar/v1/busbar_pb.ts";

/**
 * The states of jobs and tasks by the names that people use. Written out here rather than derived from the generated enum, so that the
 * command line can offer them without loading the wire's code; a test compares the two.
 */
const NUMBERS = {
  pending: 1,
  waiting: 2,
  assigned: 3,
  running: 4,
  stopping: 5,
  succeeded: 6,
  failed: 7,
  cancelled: 8,
  expired: 9,
  skipped: 10,
  offered: 11,
  accepted: 12,
  held: 13,
} as const satisfies Record<string, State>;

export type StateName = keyof typeof NUMBERS;

export const stateNames = Object.keys(NUMBERS) as readonly StateName[];

const OF_TASKS: ReadonlySet<StateName> = new Set([
  "waiting",
  "offered",
  "held",
  "assigned",
  "stopping",
]);

/** The states of jobs; the others are states of tasks only. */
export const jobStateNames = stateNames.filter((name) => !OF_TASKS.has(name));

export const stateOf = (name: StateName): State => NUMBERS[name];

/** A state that this version does not know is "unknown", not an error. */
export const stateName = (state: State): StateName | "unknown" =>
  stateNames.find((name) => NUMBERS[name] === state) ?? "unknown";

/** Final states. */
export const isEnded = (state: State): boolean => ENDED.has(stateName(state));

const ENDED: ReadonlySet<string> = new Set<StateName>([
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
]);

/** The two outputs of a task, as numbered on the wire. */
export const outputStreams = { stdout: 1, stderr: 2 } as const;
