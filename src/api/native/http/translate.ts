import type { Static } from "typebox";
import { invalid, unprocessable } from "../../../lib/errors.ts";
import type { SubmissionInput, WatchQuery } from "../../../server/operations/operations.ts";
import { readAmounts } from "../../../wire/read-json.ts";
import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import type { ApplyBody } from "./schemas/service-schemas.ts";
import type { JobSubmission, WatchQuery as WatchQuerySchema } from "./schemas/request-schemas.ts";

// Parts that are specific to HTTP and not in the schema: headers, the short names of a watch, and that a submission is the spec itself with
// a key beside it.

/** `path` is the prefix of a field's name in errors: "" or "jobs[3].". */
export function fromSubmission(body: Static<typeof JobSubmission>, path: string): SubmissionInput {
  const { idempotencyKey, hold, resources, ...spec } = body;
  return {
    spec: { ...spec, resources: resources && readAmounts(resources, `${path}resources`) },
    idempotencyKey,
    hold,
  };
}

/** The template of a service: the spec of its instances. */
export function fromTemplate(
  body: NonNullable<Static<typeof ApplyBody>["template"]>,
): JobSpecInput {
  const { resources, ...spec } = body;
  return { ...spec, resources: resources && readAmounts(resources, "template.resources") };
}

/** One key for one job; a header and a field must not differ. */
export function oneKey(header: string | undefined, field: string | undefined): string | undefined {
  if (header === undefined) return field;
  if (field !== undefined && field !== header) {
    throw unprocessable(
      "idempotencyKey",
      "differs from the header Idempotency-Key; give one of them",
    );
  }
  return header;
}

/** A browser that reconnects repeats the first address, so its `Last-Event-ID` has precedence. */
export function fromWatchQuery(
  query: Static<typeof WatchQuerySchema>,
  lastEventId: unknown,
): WatchQuery {
  const { after, job, group, kind } = query;
  return { afterRevision: fromEventId(lastEventId) ?? after, jobId: job, group, kinds: kind };
}

/** The form of `Last-Event-ID`. */
export const EVENT_ID_PATTERN = "^[0-9]{0,15}$";

function fromEventId(header: unknown): number | undefined {
  if (header === undefined || header === "") return undefined;
  if (typeof header === "string" && new RegExp(EVENT_ID_PATTERN).test(header)) {
    return Number(header);
  }
  throw invalid("Last-Event-ID", "must be the id of an event that was sent before");
}
