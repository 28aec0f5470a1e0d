import type { JobSubmissionInit } from "../../src/client/messages.ts";
import type { Dice } from "./dice.ts";

/** A job of the load, and everything that determines how its tasks must end. */
export interface PlannedJob {
  /** Its idempotency key and its name. */
  readonly key: string;
  /** undefined: no array. */
  readonly arraySize: number | undefined;
  readonly sleepMs: number;
  /** Every so manyth index fails; 0: none does. */
  readonly failEvery: number;
  /** A failing task fails in this many attempts, and succeeds in later ones. */
  readonly failAttempts: number;
  readonly failCode: number;
  readonly retries: number;
  /** Cancelled this long after it was accepted: as a whole, or one of its tasks. */
  readonly cancel: { readonly afterMs: number; readonly index: number | undefined } | undefined;
  /** Without an answer it is not repeated: it may exist once or not at all. */
  readonly isAbandoned: boolean;
  /** Submitted twice at the same time. */
  readonly isDoubled: boolean;
  /** Its request to a node's graph; undefined: a cpu. */
  readonly request: keyof typeof REQUESTS | undefined;
  /** Depends on another job, which is submitted with it. */
  readonly after: { readonly key: string; readonly kind: DependencyKind } | undefined;
}

const DEPENDENCY_KINDS = ["afterok", "afterany", "afternotok"] as const;
export type DependencyKind = (typeof DEPENDENCY_KINDS)[number];

const ONE_CORE = { type: "node", with: [{ type: "core" }] };
const REQUESTS = {
  "two-cores": [[{ type: "node", with: [{ type: "core", count: 2 }] }]],
  "whole-or-core": [[{ ...ONE_CORE, isExclusive: true }], [ONE_CORE]],
  whole: [[{ type: "node" }]],
} as const;
const REQUEST_NAMES = [
  "two-cores",
  "two-cores",
  "whole-or-core",
  "whole-or-core",
  "whole",
] as const;

/** A job, and sometimes one that depends on it. */
export function planJobs(dice: Dice, number: number): readonly PlannedJob[] {
  const first = planJob(dice, `crash-${number}`);
  if (!dice.chance(0.15)) return [first];
  const after = { key: first.key, kind: dice.pick(DEPENDENCY_KINDS) };
  return [first, { ...planJob(dice, `crash-${number}-then`), cancel: undefined, after }];
}

function planJob(dice: Dice, key: string): PlannedJob {
  const arraySize = dice.chance(0.35) ? dice.between(5, 20) : undefined;
  const fails = dice.chance(0.35);
  const cancel = dice.chance(0.1)
    ? {
        afterMs: dice.between(0, 600),
        index: arraySize !== undefined && dice.chance(0.5) ? dice.between(0, 4) : undefined,
      }
    : undefined;
  return {
    key,
    arraySize,
    sleepMs: dice.chance(0.5) ? dice.between(50, 500) : 0,
    failEvery: fails ? dice.between(1, 3) : 0,
    failAttempts: dice.between(1, 3),
    failCode: dice.between(1, 120),
    retries: dice.between(0, 2),
    cancel,
    isAbandoned: dice.chance(0.2),
    isDoubled: dice.chance(0.1),
    request: dice.chance(0.1) ? dice.pick(REQUEST_NAMES) : undefined,
    after: undefined,
  };
}

/** The exit code of the script: the same for every execution of one attempt. */
export function exitCodeOf(job: PlannedJob, index: number, attempt: number): number {
  const fails = job.failEvery > 0 && index % job.failEvery === 0;
  return fails && attempt <= job.failAttempts ? job.failCode : 0;
}

/** The attempt that ends a task when none is lost. */
export function lastAttemptOf(job: PlannedJob, index: number): number {
  for (let attempt = 1; attempt <= job.retries; attempt++) {
    if (exitCodeOf(job, index, attempt) === 0) return attempt;
  }
  return job.retries + 1;
}

export const indexesOf = (job: PlannedJob): number[] =>
  Array.from({ length: job.arraySize ?? 1 }, (_, index) => index);

/**
 * Each line of the ledger is one write to a file opened to append, so lines of many tasks do not mix. The task ends by itself in any case,
 * even when the directory is removed.
 */
export function toSubmission(job: PlannedJob, directory: string): JobSubmissionInit {
  const { key, arraySize, sleepMs, failEvery, failAttempts, failCode, retries } = job;
  const { request, after } = job;
  const line = '"$BUSBAR_JOB_ID $index $BUSBAR_ATTEMPT $BUSBAR_NODE $$"';
  const mayFail = `if [ $((index % ${failEvery})) -eq 0 ] && [ "$BUSBAR_ATTEMPT" -le ${failAttempts} ]; then exit ${failCode}; fi`;
  const script = [
    "index=${BUSBAR_ARRAY_INDEX:-0}",
    `echo ${line} >>"${directory}/started"`,
    ...(sleepMs > 0 ? [`sleep ${sleepMs / 1_000}`] : []),
    `echo ${line} >>"${directory}/ended"`,
    ...(failEvery > 0 ? [mayFail] : []),
    "exit 0",
  ].join("\n");
  return {
    idempotencyKey: key,
    spec: {
      name: key,
      command: ["sh", "-c", script],
      ...(arraySize === undefined ? {} : { array: `0-${arraySize - 1}` }),
      retries: { max: retries, backoffMs: 100n, backoffMaxMs: 200n },
      outputLimitBytes: 4_096n,
      // Not to the registered pull cluster: it has no agent that accepts offered tasks.
      ...(request && {
        request: JSON.stringify(REQUESTS[request]),
        placement: { cluster: "default" },
      }),
      ...(after && { dependsOn: [{ kind: after.kind, on: [after.key] }] }),
    },
  };
}
