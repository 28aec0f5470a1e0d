import {
  HoldBody,
  IdPath,
  JobPath,
  ReleaseBody,
  RequeueBody,
  RerunBody,
  UpdateBody,
} from "../schemas/request-schemas.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Job, ManySubmitted } from "../schemas/view-schemas.ts";
import { failures, failures422 } from "./answers.ts";

const tags = ["jobs"];
const response = { 200: Job, ...failures };

/** Changes of submitted jobs. */
export function jobChangeRoutes(app: App): void {
  app.patch(
    "/v1/jobs/:id",
    {
      schema: {
        tags,
        operationId: "updateJob",
        summary: "Replace the given fields of a job. A job that has ended cannot be changed",
        params: JobPath,
        body: UpdateBody,
        response,
      },
    },
    ({ params, body, operations }) => operations.updateJob(params.id, body ?? {}),
  );

  app.post(
    "/v1/jobs/:id/hold",
    {
      schema: {
        tags,
        operationId: "holdJob",
        summary: "Keep a job, or one task of it, in the queue until it is released",
        params: IdPath,
        body: HoldBody,
        response,
      },
    },
    ({ params, body, operations }) => operations.holdJob(params.id, body?.reason ?? "", body),
  );

  app.post(
    "/v1/jobs/:id/release",
    {
      schema: {
        tags,
        operationId: "releaseJob",
        summary: "Release a job, or one task of it, that is on hold",
        params: IdPath,
        body: ReleaseBody,
        response,
      },
    },
    ({ params, body, operations }) => operations.releaseJob(params.id, body),
  );

  app.post(
    "/v1/jobs/:id/requeue",
    {
      schema: {
        tags,
        operationId: "requeueJob",
        summary: "Stop the running tasks of a job, or one of them, and place them again",
        params: IdPath,
        body: RequeueBody,
        response,
      },
    },
    ({ params, body, operations }) => operations.requeueJob(params.id, body?.reason ?? "", body),
  );

  app.post(
    "/v1/jobs/:id/rerun",
    {
      schema: {
        tags,
        operationId: "rerunJob",
        summary: "Submit the spec of a job again as a new job",
        params: JobPath,
        body: RerunBody,
        response: { 200: ManySubmitted, ...failures422, ...failures },
      },
    },
    ({ params, body, operations }) => operations.rerunJob(params.id, body ?? {}),
  );
}
