import { groupId, parseTaskId, revision, REVISION_RULE } from "../../core/model/ids.ts";
import type { GroupId, JobId, Revision } from "../../core/model/ids.ts";
import { WATCHED_NAMES, type WatchedName } from "../../core/state/tables/tables.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import type { WatchQuery } from "../operations/operations.ts";

/** The kinds of events: tables that are marked as such. */
export type WatchKind = WatchedName;
export const WATCH_KINDS: readonly WatchKind[] = WATCHED_NAMES;

/** The default kinds of a watch: notes of the clients of one door are only for that door. */
export const USUAL_KINDS: readonly Exclude<WatchKind, "nexus">[] = WATCH_KINDS.filter(
  (kind) => kind !== "nexus",
);

/** The events that a watch requests. Two watches with the same key get the same events. */
export interface WatchFilter {
  readonly key: string;
  readonly kinds: ReadonlySet<WatchKind>;
  readonly jobId: JobId | undefined;
  readonly group: GroupId | undefined;
}

export function toWatchFilter({ kinds, jobId, group }: WatchQuery): WatchFilter {
  const isAll = kinds === undefined || kinds.length === 0;
  const asked = new Set<WatchKind>(
    isAll ? USUAL_KINDS : WATCH_KINDS.filter((kind) => kinds.includes(kind)),
  );
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
  return revision(checkRule(after, "afterRevision", REVISION_RULE));
}
