import type { BusbarClient } from "../../client/client.ts";
import type { JobFilterInit } from "../../client/messages.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { oneOf } from "../flags.ts";
import { toJobRow } from "../json.ts";
import type { JobRow } from "../rows.ts";

type SortKey = number | string | undefined;

/** The server's sort key, as it is in a row. */
const KEYS = {
  submitted: (job: JobRow): SortKey => job.submittedAtMs,
  started: (job: JobRow): SortKey => job.startedAtMs,
  ended: (job: JobRow): SortKey => job.endedAtMs,
  took: ({ startedAtMs, endedAtMs }: JobRow): SortKey =>
    startedAtMs === undefined || endedAtMs === undefined ? undefined : endedAtMs - startedAtMs,
  name: (job: JobRow): SortKey => job.spec.name,
  group: (job: JobRow): SortKey => job.spec.group,
  state: (job: JobRow): SortKey => job.state,
  priority: (job: JobRow): SortKey => job.spec.priority,
  tasks: (job: JobRow): SortKey => job.taskTotal,
} as const;

export const sortFields = Object.keys(KEYS) as readonly (keyof typeof KEYS)[];

/** "took:desc". */
export const sortOrder =
  (flag: string) =>
  (text: string): string => {
    const [field = "", direction = "asc", ...more] = text.split(":");
    oneOf(flag, sortFields)(field);
    if (more.length > 0) throw invalid(flag, `"${text}" is not of the form field:desc`);
    return `${field}:${oneOf(flag, ["asc", "desc"])(direction)}`;
  };

/** Like the server: rows without a value come last, and of equal ones the newer is first. */
export function compareJobs(a: JobRow, b: JobRow, sort: string | undefined): number {
  const newer = Number(b.id) - Number(a.id);
  if (sort === undefined) return newer;
  const [field = "", direction] = sort.split(":");
  const [left, right] = [a, b].map(KEYS[field as keyof typeof KEYS]);
  if (left === right) return newer;
  if (left === undefined || right === undefined) return left === undefined ? 1 : -1;
  return left < right === (direction !== "desc") ? -1 : 1;
}

/**
 * The first jobs in an order. Each page has the first of the jobs that it scanned: the command keeps no more of all pages than requested.
 */
export async function readSorted(
  client: BusbarClient,
  what: { readonly filter: JobFilterInit; readonly sort: string },
  limit: number,
): Promise<{
  readonly items: readonly JobRow[];
  readonly more: boolean;
  readonly revision: bigint;
}> {
  const pageSize = Math.min(limit, limits.pageSizeMax);
  if (limit > limits.pageSizeMax) {
    throw invalid("--sort", `lists at most ${limits.pageSizeMax} jobs; give a --limit`);
  }
  let items: readonly JobRow[] = [];
  let pageToken: string | undefined;
  let revision: bigint | undefined;
  let found = 0;
  do {
    const page = await client.listJobs({ ...what, pageSize, pageToken });
    const all = [...items, ...page.jobs.map(toJobRow)];
    found += page.jobs.length;
    items = all.sort((a, b) => compareJobs(a, b, what.sort)).slice(0, limit);
    pageToken = page.nextPageToken;
    revision ??= page.revision;
  } while (pageToken !== undefined);
  // A full page may have left some out.
  return { items, more: found > limit || found === pageSize, revision: revision ?? 0n };
}
