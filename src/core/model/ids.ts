import { invalid } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";

declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** Counts up from 1 with every job, is never issued again, and stays below 2^31. */
export type JobId = Branded<number, "JobId">;
/** A node's name: unique over all clusters. */
export type NodeId = Branded<string, "NodeId">;
export type ClusterId = Branded<string, "ClusterId">;
export type GroupId = Branded<string, "GroupId">;
export type ServiceId = Branded<string, "ServiceId">;
/** Number of a committed batch of changes: grows, survives restarts. */
export type Revision = Branded<number, "Revision">;

export const jobId = (raw: number): JobId => raw as JobId;
export const nodeId = (raw: string): NodeId => raw as NodeId;
export const clusterId = (raw: string): ClusterId => raw as ClusterId;
export const serviceId = (raw: string): ServiceId => raw as ServiceId;
export const groupId = (raw: string): GroupId => raw as GroupId;
export const revision = (raw: number): Revision => raw as Revision;
/** The revision of a row that was never written. */
export const NO_REVISION = revision(0);

export const REVISION_RULE = {
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  multipleOf: 1,
} as const satisfies Rule;

export const JOB_ID_MAX = 2 ** 31 - 1;

/** One task of a job; `index` is the array index, 0 for a job without array. */
export interface TaskRef {
  readonly jobId: JobId;
  readonly index: number;
}

/** "17" for a job without array, "17.3" in an array. */
export const formatTaskId = (job: JobId, index: number, inArray: boolean): string =>
  inArray ? `${job}.${index}` : String(job);

/** Patterns for the id of a job, and of a job or task. No job has an id beyond JOB_ID_MAX. */
const JOB_ID = "[1-9][0-9]{0,9}";
export const JOB_ID_RULE = { pattern: `^${JOB_ID}$` } as const satisfies Rule;
export const TASK_ID_RULE = {
  pattern: `^${JOB_ID}([.](0|[1-9][0-9]{0,8}))?$`,
} as const satisfies Rule;
const TASK_ID = new RegExp(TASK_ID_RULE.pattern);

/** Parses "17" and "17.3"; `index` is undefined in the first case. */
export function parseTaskId(
  text: string,
  field: string,
): { readonly jobId: JobId; readonly index: number | undefined } {
  if (!TASK_ID.test(text)) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw invalid(field, `${shown} is not an id; a job's looks like 17, a task's like 17.3`);
  }
  const [id, index] = text.split(".");
  return { jobId: jobId(Number(id)), index: index === undefined ? undefined : Number(index) };
}

/** For names of nodes, clusters and groups. */
export const NAME_PATTERN = "[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?";
export const NAME_RULE = {
  minLength: 1,
  maxLength: limits.nameLengthMax,
  pattern: `^${NAME_PATTERN}$`,
} as const satisfies Rule;
/** Shorter: the names of its instances begin with it. */
export const SERVICE_NAME_RULE = { ...NAME_RULE, maxLength: limits.serviceNameLengthMax } as const;
const NAME = new RegExp(NAME_RULE.pattern);

/** Names of nodes, clusters and groups: characters that are safe in a path, a label and a shell word. */
export function checkName(text: string, field: string, lengthMax: number): string {
  if (text.length > lengthMax || !NAME.test(text)) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw invalid(
      field,
      `${shown} is not a name; use letters, digits, ".", "_" and "-" ` +
        `(a letter or digit first and last, at most ${lengthMax} characters)`,
    );
  }
  return text;
}
