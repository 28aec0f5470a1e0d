import { groupId, parseTaskId, revision } from "../../core/model/ids.ts";
import type { GroupId, JobId, Revision } from "../../core/model/ids.ts";
import { WATCHED_NAMES, type WatchedName } from "../../core/state/tables/tables.ts";
import { invalid } from "../../lib/errors.ts";
import type { WatchQuery } from "../operations/operations.ts";

/** A kind of event is a table that says so. */
export type WatchKind = WatchedName;
export const WATCH_KINDS: readonly WatchKind[] = WATCHED_NAMES;

/** The events that a watch asks for. Two watches with the same key get the same events. */
export interface WatchFilter {
  readonly key: string;
  readonly kinds: ReadonlySet<WatchKind>;
  readonly jobId: JobId | undefined;
  readonly group: GroupId | undefined;
}

export function toWatchFilter({ kinds, jobId, group }: WatchQuery): WatchFilter {
  const isAll = kinds === undefined || kinds.length === 0;
  const asked = new Set(isAll ? WATCH_KINDS : WATCH_KINDS.filter((kind) => kinds.includes(kind)));
  const job = jobId === undefined ? undefined : parseTaskId(jobId, "jobId").jobId;
  const ofGroup = group === undefined ? undefined : groupId(group);
  return {
    key: `${[...asked].join()}/${job ?? ""}/${ofGroup ?? ""}`,
    kinds: asked,
    jobId: job,
    group: ofGroup,
  };
}

export function toWatchRevision(after: number | undefined): Revision | undefined {
  if (after === undefined) return undefined;
  if (!Number.isSafeInteger(after) || after < 0) {
    throw invalid("afterRevision", `must be a whole number from 0, not ${after}`);
  }
  return revision(after);
}
