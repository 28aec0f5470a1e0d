import { endOf, isJobEnded, taskTotalIn } from "../../model/progress.ts";
import { checkRule } from "../../../lib/rules/check-rule.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import type { JobRecord } from "./job-record.ts";

/** The sort key of a job; undefined: it has no value yet, and comes last. */
export type SortKey = number | string | undefined;

/** The order of a list of jobs. */
export interface JobOrder {
  keyOf(record: JobRecord): SortKey;
  /** Below 0: the first goes before the second. */
  compare(a: SortKey, b: SortKey): number;
}

const endedAtMs = ({ job, progress }: JobRecord): number | undefined =>
  isJobEnded(progress) ? endOf(job, progress) : undefined;

const FIELDS: Readonly<Record<string, (record: JobRecord) => SortKey>> = {
  submitted: ({ job }) => job.submittedAtMs,
  started: ({ progress }) => progress.startedAtMs,
  ended: endedAtMs,
  /** Only for ended jobs: the duration of others is unknown. */
  took: (record) => {
    const [from, to] = [record.progress.startedAtMs, endedAtMs(record)];
    return from === undefined || to === undefined ? undefined : to - from;
  },
  name: ({ job }) => job.spec.name,
  group: ({ job }) => job.spec.group,
  state: ({ progress }) => progress.state,
  priority: ({ job }) => job.spec.priority,
  tasks: ({ job, progress }) => taskTotalIn(job.spec, progress),
};

export const SORT_RULE = {
  pattern: `^(${Object.keys(FIELDS).join("|")})(:asc|:desc)?$`,
  hint: `one of ${Object.keys(FIELDS).join(", ")}, and ":desc" for the largest first`,
} as const satisfies Rule;

/** A time of submission in a query. */
export const TIME_RULE = {
  minimum: 0,
  maximum: 8_640_000_000_000_000,
  multipleOf: 1,
} as const satisfies Rule;

/** Undefined: newest first. */
export function readJobOrder(sort: string | undefined): JobOrder | undefined {
  if (sort === undefined) return undefined;
  const [field = "", direction] = checkRule(sort, "sort", SORT_RULE).split(":");
  const keyOf = FIELDS[field] as (record: JobRecord) => SortKey;
  const sign = direction === "desc" ? -1 : 1;
  return { keyOf, compare: (a, b) => compareKeys(a, b, sign) };
}

function compareKeys(a: SortKey, b: SortKey, sign: 1 | -1): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  return a < b ? -sign : sign;
}
