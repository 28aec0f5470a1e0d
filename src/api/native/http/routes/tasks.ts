import { limits } from "../../../../limits.ts";
import type { HttpHost } from "../guards/host.ts";
import { openOutput } from "../output-stream.ts";
import { IdPath, OutputQuery, ProgressBody } from "../schemas/request-schemas.ts";
import { fromQuery } from "../schemas/query.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Task } from "../schemas/view-schemas.ts";
import { bytesOf, failures } from "./answers.ts";

const tags = ["tasks"];

export function taskRoutes(app: App, { streams }: HttpHost): void {
  app.get(
    "/v1/tasks/:id",
    {
      schema: {
        tags,
        operationId: "getTask",
        summary: "Show a task",
        params: IdPath,
        response: { 200: Task, ...failures },
      },
    },
    ({ params, operations }) => operations.getTask(params.id),
  );

  app.post(
    "/v1/tasks/:id/progress",
    {
      schema: {
        tags,
        operationId: "reportProgress",
        summary: "Report the progress of the current attempt of a task; answers when it is durable",
        params: IdPath,
        body: ProgressBody,
        response: { 200: Task, ...failures },
      },
    },
    ({ params, body, operations }) => operations.reportProgress(params.id, body),
  );

  app.get(
    "/v1/tasks/:id/output",
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: "readOutput",
        summary: "Read the output of a task, unchanged; with follow, until the task ends",
        params: IdPath,
        querystring: OutputQuery,
        response: { 200: bytesOf("application/octet-stream", "The bytes"), ...failures },
      },
    },
    async ({ params, query, operations }, reply) => {
      const ended = streams.open();
      reply.raw.once("close", () => ended.abort());
      const { stream = "stdout", ...rest } = fromQuery(query);
      const parts = operations.readOutput({ taskId: params.id, stream, ...rest }, ended.signal);
      const bytes = await openOutput(parts, ended, limits.outputHeadersAfterMs);
      // A browser must not render a task's output as a page, whatever it contains.
      reply.header("x-content-type-options", "nosniff");
      reply.header("cache-control", "no-store");
      reply.type("application/octet-stream").send(bytes);
      reply.raw.flushHeaders();
      return reply;
    },
  );
}
