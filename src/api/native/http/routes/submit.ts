import type { FastifyReply } from "fastify";
import { type Static, Type } from "typebox";
import { invalid, withoutFieldPrefix } from "../../../../lib/errors.ts";
import { invariant } from "../../../../lib/invariant.ts";
import type { Operations } from "../../../../server/operations.ts";
import { LOCAL_CALLER } from "../../caller.ts";
import type { HttpHost } from "../host.ts";
import { type JobSubmission, type ManySubmissions, SubmitBody } from "../request-schemas.ts";
import { list, named, object, optional, text, whole } from "../schema.ts";
import { fromSubmission, oneKey } from "../translate.ts";
import type { App } from "../typebox-provider.ts";
import { Submitted } from "../view-schemas.ts";
import { failures } from "./answers.ts";

const revision = whole("Number of the change");
/** What a submission answers: one job for one, a list for a list. */
const OneAnswer = object({ ...Submitted.properties, revision });
const ManyAnswer = object({ jobs: list(named(Submitted)), revision });
const SubmitAnswer = Type.Union([OneAnswer, ManyAnswer]);

const SubmitHeaders = Type.Object({
  "idempotency-key": optional(text("For one job: the same as its field idempotencyKey")),
});

export function submitRoute(app: App, { operations }: HttpHost): void {
  app.post(
    "/v1/jobs",
    {
      schema: {
        tags: ["jobs"],
        summary: "Submit a job, or many under `jobs`: all or none. Answers when they are durable",
        headers: SubmitHeaders,
        body: SubmitBody,
        response: { 200: SubmitAnswer, 201: SubmitAnswer, ...failures },
      },
    },
    async ({ body, headers }, reply) => {
      const key = headers["idempotency-key"];
      return "jobs" in body
        ? submitMany(operations, body, key, reply)
        : submitOne(operations, body, key, reply);
    },
  );
}

async function submitMany(
  operations: Operations,
  body: Static<typeof ManySubmissions>,
  key: string | undefined,
  reply: FastifyReply,
): Promise<Static<typeof ManyAnswer>> {
  if (key !== undefined) {
    throw invalid("Idempotency-Key", "is for one job; give each its own idempotencyKey");
  }
  const jobs = body.jobs.map((job, at) => fromSubmission(job, `jobs[${at}].`));
  const answer = await operations.submitJobs(LOCAL_CALLER, jobs);
  reply.code(answer.jobs.every(({ existed }) => existed) ? 200 : 201);
  return { jobs: [...answer.jobs], revision: answer.revision };
}

async function submitOne(
  operations: Operations,
  body: Static<typeof JobSubmission>,
  key: string | undefined,
  reply: FastifyReply,
): Promise<Static<typeof OneAnswer>> {
  const job = fromSubmission(body, "");
  const { jobs, revision } = await operations
    .submitJobs(LOCAL_CALLER, [{ ...job, idempotencyKey: oneKey(key, job.idempotencyKey) }])
    .catch((error: unknown) => {
      throw withoutFieldPrefix(error, "jobs[0].");
    });
  const [submitted] = jobs;
  invariant(submitted !== undefined, "one answer for each job");
  reply.code(submitted.existed ? 200 : 201).header("location", `/v1/jobs/${submitted.id}`);
  return { ...submitted, revision };
}
