import type { Static } from "typebox";
import { invalid } from "../../../lib/errors.ts";
import { parseSizeBytes } from "../../../lib/units.ts";
import type {
  JobFilter,
  SubmissionInput,
  WatchQuery,
} from "../../../server/operations/operations.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import type {
  JobQuery,
  JobSubmission,
  WatchQuery as WatchQuerySchema,
} from "./schemas/request-schemas.ts";

/** `path` is what stands before a field's name in errors: "" or "jobs[3].". */
export function fromSubmission(body: Static<typeof JobSubmission>, path: string): SubmissionInput {
  const { idempotencyKey, resources, ...spec } = body;
  return {
    spec: { ...spec, resources: resources && fromResources(resources, `${path}resources`) },
    idempotencyKey,
  };
}

function fromResources(
  resources: Readonly<Record<string, number | string>>,
  path: string,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(resources).map(([name, amount]) => [
      name,
      typeof amount === "string" ? parseSizeBytes(amount, `${path}.${name}`) : amount,
    ]),
  );
}

/** One key for one job; a header and a field must not disagree. */
export function oneKey(header: unknown, field: string | undefined): string | undefined {
  if (header === undefined) return field;
  if (typeof header !== "string" || header === "") {
    throw invalid("Idempotency-Key", "must be given once, and not be empty");
  }
  if (field !== undefined && field !== header) {
    throw invalid("idempotencyKey", "differs from the header Idempotency-Key; give one of them");
  }
  return header;
}

export function fromJobQuery(query: Static<typeof JobQuery>): JobFilter {
  const { state, group, label, cluster, node, name, submittedBy } = query;
  return {
    states: state,
    group,
    labels: label && Object.fromEntries(label.map(fromLabel)),
    cluster,
    node,
    name,
    submittedBy,
  };
}

function fromLabel(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw invalid("label", `${JSON.stringify(text.slice(0, 40))} is not name=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** A browser that reconnects repeats the first address, so what it says it saw last goes first. */
export function fromWatchQuery(
  query: Static<typeof WatchQuerySchema>,
  lastEventId: unknown,
): WatchQuery {
  const { after, job, group, kind } = query;
  return { afterRevision: fromEventId(lastEventId) ?? after, jobId: job, group, kinds: kind };
}

function fromEventId(header: unknown): number | undefined {
  if (header === undefined || header === "") return undefined;
  if (typeof header === "string" && /^\d{1,15}$/.test(header)) return Number(header);
  throw invalid("Last-Event-ID", "must be the id of an event that was sent before");
}

/**
 * After which revision a reader of this event can go on without missing anything. Changes of one
 * commit share a revision and come one by one; a reader that lost its link between two of them
 * must get that commit again, so only the one before is over for sure.
 */
export const eventId = (event: WatchEventView): number =>
  event.kind === "sync" || event.kind === "bookmark" ? event.revision : event.revision - 1;
