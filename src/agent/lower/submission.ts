import { join } from "node:path";

import { invariant } from "../../lib/invariant.ts";
import { quoteShell } from "../../lib/shell.ts";
import { limits } from "../../limits.ts";
import type { PartFiles } from "./wrapper/part-files.ts";
import type { LowerStep } from "./plan-run.ts";
import type { Part } from "./run.ts";
import { isSuccess } from "./run.ts";
import type { LowerJob, LowerScheduler } from "./scheduler.ts";
import { INDEX } from "./scheduler.ts";
import { jobScript } from "./wrapper/wrapper.ts";

/** Parts that the agent submits to the scheduler at once: one job, or an array. */
export interface LowerSubmission {
  readonly marker: string;
  /** undefined: one job. Otherwise one index for each part, ascending. */
  readonly indexes: readonly number[] | undefined;
  readonly parts: readonly Part[];
  /** When the agent submitted to the scheduler and received no answer; 0: in an earlier process. */
  readonly sinceMs: number;
}

/** Parts with their steps. */
export interface Ready {
  readonly part: Part;
  readonly step: LowerStep;
  /** For an array of Busbar, or copies of a step. */
  readonly index: number | undefined;
  readonly name: string;
}

/** Parts of one kind differ only in the index, so that they can be one array. A part without an index is alone. */
const kindOf = ({ part, step, index, name }: Ready): string => {
  if (index === undefined) return part.key;
  const { jobId, attempt } = part.run.id;
  const whose = part.copy === undefined ? [jobId, attempt] : [part.run.key, part.step];
  return JSON.stringify([whose, name, step.shape, step.timeLimitMs]);
};

/** Parts that are ready, as submissions, in the order in which they came. */
export function gather(ready: readonly Ready[]): readonly (readonly Ready[])[] {
  const kinds = Map.groupBy(ready, kindOf);
  return [...kinds.values()].flatMap((all) => {
    const sorted = all.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0));
    const chunks: Ready[][] = [];
    for (let at = 0; at < sorted.length; at += limits.lowerArrayTasksMax) {
      chunks.push(sorted.slice(at, at + limits.lowerArrayTasksMax));
    }
    return chunks;
  });
}

/**
 * `owner` distinguishes agents that use the same scheduler. The first part is in no other submission that the scheduler accepted, so the
 * marker is unique.
 */
export function toSubmission(members: readonly Ready[], owner: string): LowerSubmission {
  const parts = members.map(({ part }) => part);
  const marker = `busbar:${owner}:${parts[0]?.key ?? ""}`;
  return { marker, indexes: indexesOf(members), parts, sinceMs: 0 };
}

/** Their own indexes, unless they exceed the scheduler's maximum. */
function indexesOf(members: readonly Ready[]): readonly number[] | undefined {
  if (members.length === 1) return undefined;
  const own = members.map(({ index }) => index ?? 0);
  return (own.at(-1) ?? 0) <= limits.lowerArrayTasksMax ? own : own.map((_, at) => at);
}

/** Writes the files of the parts, and returns the job. Throws when that fails. */
export function prepare(
  submission: LowerSubmission,
  members: readonly Ready[],
  about: {
    readonly files: PartFiles;
    readonly scheduler: LowerScheduler;
    readonly after: readonly string[];
  },
): LowerJob {
  const { files, scheduler, after } = about;
  const [first] = members;
  invariant(first !== undefined, "a submission has parts");
  for (const { part, step } of members) files.writePart(part, step, scheduler);
  const { marker, indexes } = submission;
  const own = files.of(first.part.key);
  const base = indexes === undefined ? own : join(linkArray(submission, files), INDEX);
  const wrapper = quoteShell(join(base, "wrapper")).replace(INDEX, `'"${scheduler.inside.index}"'`);
  return {
    marker,
    name: first.name,
    script: jobScript(wrapper),
    directory: files.of(first.part.run.key),
    timeLimitMs: first.step.timeLimitMs,
    killGraceMs: first.part.run.terms.killGraceMs,
    shape: first.step.shape,
    launch: first.step.launch,
    indexes,
    after,
    stdout: join(base, scheduler.writesIntoOutput(first.step) ? "scheduler.out" : "stdout"),
    stderr: join(base, scheduler.writesIntoOutput(first.step) ? "scheduler.err" : "stderr"),
  };
}

function linkArray({ parts, indexes = [] }: LowerSubmission, files: PartFiles): string {
  const linked = parts.map(({ key }, at) => ({ key, index: indexes[at] ?? at }));
  return files.linkArray(parts[0]?.key ?? "", linked);
}

export type Readiness =
  | { readonly kind: "ready"; readonly after: readonly string[] }
  | { readonly kind: "not-yet" }
  | { readonly kind: "never"; readonly message: string };

/** Whether a part may be submitted, and after which jobs. */
export function readinessOf({ run, step }: Part): Readiness {
  const after: string[] = [];
  for (const earlier of run.terms.steps[step]?.after ?? []) {
    for (const part of run.parts[earlier] ?? []) {
      const { state } = part;
      // A scheduler may count a job of which it has no record as succeeded.
      if (state.kind === "submitted" && state.missingSinceMs === undefined) after.push(state.id);
      else if (state.kind !== "ended") return { kind: "not-yet" };
      else if (!isSuccess(part)) {
        const name = run.terms.steps[earlier]?.name ?? "";
        return { kind: "never", message: `${name} did not succeed` };
      }
    }
  }
  return { kind: "ready", after };
}
