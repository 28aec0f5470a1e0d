import { invalid } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules.ts";
import { limits } from "../../limits.ts";

declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** Counts up from 1 with every job, is never used again, and stays below 2^31. */
export type JobId = Branded<number, "JobId">;
/** A node's name: unique over all clusters. */
export type NodeId = Branded<string, "NodeId">;
export type ClusterId = Branded<string, "ClusterId">;
export type GroupId = Branded<string, "GroupId">;
/** Number of a committed batch of changes: grows, survives restarts. */
export type Revision = Branded<number, "Revision">;

export const jobId = (raw: number): JobId => raw as JobId;
export const nodeId = (raw: string): NodeId => raw as NodeId;
export const clusterId = (raw: string): ClusterId => raw as ClusterId;
export const groupId = (raw: string): GroupId => raw as GroupId;
export const revision = (raw: number): Revision => raw as Revision;

export const JOB_ID_MAX = 2 ** 31 - 1;

/** One task of a job; `index` is the array index, 0 for a job without array. */
export interface TaskRef {
  readonly jobId: JobId;
  readonly index: number;
}

/** "17" for a job without array, "17.3" in an array. */
export const formatTaskId = (job: JobId, index: number, inArray: boolean): string =>
  inArray ? `${job}.${index}` : String(job);

/** Of the id of a job, and of a job or task. */
export const JOB_ID_RULE = { pattern: "^[1-9][0-9]{0,8}$" } as const satisfies Rule;
export const TASK_ID_RULE = {
  pattern: "^[1-9][0-9]{0,8}([.](0|[1-9][0-9]{0,8}))?$",
} as const satisfies Rule;

/** Parses "17" and "17.3"; `index` is undefined in the first case. */
export function parseTaskId(
  text: string,
  field: string,
): { readonly jobId: JobId; readonly index: number | undefined } {
  const match = /^([1-9]\d{0,9})(?:\.(0|[1-9]\d{0,8}))?$/.exec(text);
  const id = match?.[1] === undefined ? Number.NaN : Number(match[1]);
  if (match === null || !(id <= JOB_ID_MAX)) {
    const shown = JSON.stringify(text.slice(0, 40));
    throw invalid(field, `${shown} is not an id; a job's looks like 17, a task's like 17.3`);
  }
  return { jobId: jobId(id), index: match[2] === undefined ? undefined : Number(match[2]) };
}

/** Of names of nodes, clusters and groups. */
export const NAME_RULE = {
  minLength: 1,
  maxLength: limits.nameLengthMax,
  pattern: "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$",
} as const satisfies Rule;
const NAME = new RegExp(NAME_RULE.pattern);

/** Names of nodes, clusters and groups: what is safe in a path, a label and a shell word. */
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
