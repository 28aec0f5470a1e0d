import {
  CountQuery,
  IdPath,
  JobPath,
  JobQuery,
  ReasonBody,
  TaskQuery,
} from "../schemas/request-schemas.ts";
import { fromQuery } from "../schemas/query.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Counts, Explanation, Job, JobPage, TaskPage } from "../schemas/view-schemas.ts";
import { failures } from "./answers.ts";
import { jobChangeRoutes } from "./job-changes.ts";

const tags = ["jobs"];
export function jobRoutes(app: App): void {
  app.get(
    "/v1/jobs",
    {
      schema: {
        tags,
        operationId: "listJobs",
        summary: "List jobs, newest first. A page may be empty and still have a next one",
        querystring: JobQuery,
        response: { 200: JobPage, ...failures },
      },
    },
    ({ query, operations }) => {
      const asked = fromQuery(query);
      return operations.listJobs(asked, asked);
    },
  );

  app.get(
    "/v1/jobs/count",
    {
      schema: {
        tags,
        operationId: "countJobs",
        summary: "Count jobs and tasks in each state",
        querystring: CountQuery,
        response: { 200: Counts, ...failures },
      },
    },
    ({ query, operations }) => operations.countJobs(fromQuery(query).group),
  );

  app.get(
    "/v1/jobs/:id",
    {
      schema: {
        tags,
        operationId: "getJob",
        summary: "Show a job",
        params: JobPath,
        response: { 200: Job, ...failures },
      },
    },
    ({ params, operations }) => operations.getJob(params.id),
  );

  app.post(
    "/v1/jobs/:id/cancel",
    {
      schema: {
        tags,
        operationId: "cancelJob",
        summary: "Cancel a job, or one task of it. Cancelling a job that has ended changes nothing",
        params: IdPath,
        body: ReasonBody,
        response: { 200: Job, ...failures },
      },
    },
    ({ params, body, operations }) => operations.cancelJob(params.id, body?.reason ?? "", body),
  );

  jobChangeRoutes(app);

  app.get(
    "/v1/jobs/:id/explain",
    {
      schema: {
        tags,
        operationId: "explainJob",
        summary: "Explain why a job is pending, and what would help",
        params: IdPath,
        response: { 200: Explanation, ...failures },
      },
    },
    ({ params, operations }) => operations.explainJob(params.id),
  );

  app.get(
    "/v1/jobs/:id/tasks",
    {
      schema: {
        tags,
        operationId: "listTasks",
        summary: "List the tasks of a job, by array index",
        params: JobPath,
        querystring: TaskQuery,
        response: { 200: TaskPage, ...failures },
      },
    },
    ({ params, query, operations }) => {
      const { states = [], ...page } = fromQuery(query);
      return operations.listTasks(params.id, states, page);
    },
  );
}
