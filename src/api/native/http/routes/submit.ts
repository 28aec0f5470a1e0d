import type { FastifyReply } from "fastify";
import { type Static, Type } from "typebox";
import { unprocessable, withoutFieldPrefix } from "../../../../lib/errors.ts";
import { invariant } from "../../../../lib/invariant.ts";
import type {
  JobspecInput,
  Operations,
  SubmitOptions,
} from "../../../../server/operations/operations.ts";
import { jobspecOf } from "../guards/json-body.ts";
import {
  type JobSubmission,
  JobspecSubmission,
  type ManySubmissions,
  SubmitBody,
  SubmitQuery,
} from "../schemas/request-schemas.ts";
import { JobSubmissionSchema } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { field } from "../schemas/derived.ts";
import { optional } from "../schemas/schema.ts";
import { fromSubmission, oneKey } from "../translate.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { ManySubmitted, OneSubmitted, Tried } from "../schemas/view-schemas.ts";
import { failures, failures422 } from "./answers.ts";

const SubmitAnswer = Type.Union([OneSubmitted, ManySubmitted]);

const SubmitHeaders = Type.Object({
  "idempotency-key": optional(
    Type.Unsafe<string>({
      ...field(JobSubmissionSchema, "idempotencyKey"),
      description: "For one job: the same as its field idempotencyKey",
    }),
  ),
});

export function submitRoute(app: App): void {
  app.post(
    "/v1/jobs",
    {
      schema: {
        tags: ["jobs"],
        operationId: "submitJobs",
        summary: "Submit a job, or many under `jobs`: all or none. Answers when they are durable",
        headers: SubmitHeaders,
        querystring: SubmitQuery,
        body: SubmitBody,
        response: { 200: SubmitAnswer, 201: SubmitAnswer, ...failures422, ...failures },
      },
    },
    async ({ body, headers, query, operations }, reply) => {
      const given = { key: headers["idempotency-key"], options: query };
      return "jobs" in body
        ? submitMany(operations, body, given, reply)
        : submitOne(operations, body, given, reply);
    },
  );
  app.post(
    "/v1/jobs/try",
    {
      schema: {
        tags: ["jobs"],
        operationId: "tryJobs",
        summary: "Show where jobs would go now, or why they would wait. Changes nothing",
        body: SubmitBody,
        response: { 200: Tried, ...failures422, ...failures },
      },
    },
    ({ body, operations }) => {
      const jobs =
        "jobs" in body
          ? body.jobs.map((job, at) => fromSubmission(job, `jobs[${at}].`))
          : [fromSubmission(body, "")];
      return operations.tryJobs({ kind: "jobs", jobs }).catch((error: unknown) => {
        throw "jobs" in body ? error : withoutFieldPrefix(error, "jobs[0].");
      });
    },
  );
}

export function jobspecRoutes(app: App): void {
  app.post(
    "/v1/jobspecs",
    {
      schema: {
        tags: ["jobs"],
        operationId: "submitJobspec",
        summary: "Submit the tasks of a jobspec as jobs: all or none",
        querystring: SubmitQuery,
        body: JobspecSubmission,
        response: { 200: ManySubmitted, 201: ManySubmitted, ...failures422, ...failures },
      },
    },
    async ({ body, query, operations }, reply) => {
      const answer = await operations.submitJobspec(fromJobspec(body, query));
      reply.code(answer.jobs.every(({ existed }) => existed) ? 200 : 201);
      return answer;
    },
  );
  app.post(
    "/v1/jobspecs/try",
    {
      schema: {
        tags: ["jobs"],
        operationId: "tryJobspec",
        summary: "Show where the tasks of a jobspec would go now, or why they would wait",
        body: JobspecSubmission,
        response: { 200: Tried, ...failures422, ...failures },
      },
    },
    ({ body, operations }) =>
      operations.tryJobs({ kind: "jobspec", jobspec: fromJobspec(body, {}) }),
  );
}

function fromJobspec(body: Static<typeof JobspecSubmission>, options: SubmitOptions): JobspecInput {
  const { jobspec: text, idempotencyKey, hold, allowUnsatisfiable, ...common } = body;
  const jobspec = jobspecOf(body) ?? text;
  return { jobspec, idempotencyKey, hold, common, allowUnsatisfiable, ...options };
}

interface Given {
  readonly key: string | undefined;
  readonly options: SubmitOptions;
}

async function submitMany(
  operations: Operations,
  body: Static<typeof ManySubmissions>,
  { key, options }: Given,
  reply: FastifyReply,
): Promise<Static<typeof ManySubmitted>> {
  if (key !== undefined) {
    throw unprocessable("Idempotency-Key", "is for one job; give each its own idempotencyKey");
  }
  const jobs = body.jobs.map((job, at) => fromSubmission(job, `jobs[${at}].`));
  const { allowUnsatisfiable } = body;
  const answer = await operations.submitJobs(jobs, { allowUnsatisfiable, ...options });
  reply.code(answer.jobs.every(({ existed }) => existed) ? 200 : 201);
  return { jobs: [...answer.jobs], revision: answer.revision };
}

async function submitOne(
  operations: Operations,
  body: Static<typeof JobSubmission>,
  { key, options }: Given,
  reply: FastifyReply,
): Promise<Static<typeof OneSubmitted>> {
  const job = fromSubmission(body, "");
  const one = { ...job, idempotencyKey: oneKey(key, job.idempotencyKey) };
  const { jobs, revision } = await operations.submitJobs([one], options).catch((error: unknown) => {
    throw withoutFieldPrefix(error, "jobs[0].");
  });
  const [submitted] = jobs;
  invariant(submitted !== undefined, "one answer for each job");
  reply.code(submitted.existed ? 200 : 201).header("location", `/v1/jobs/${submitted.id}`);
  return { ...submitted, revision };
}
