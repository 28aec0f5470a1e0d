import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { HttpHost } from "../guards/host.ts";
import { renderMetrics } from "../render-metrics.ts";
import { openOutput } from "../output-stream.ts";
import { PROMETHEUS_TYPE } from "../prometheus.ts";
import { flag, object } from "../schemas/schema.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Stats } from "../schemas/view-schemas.ts";
import { bytesOf, failures } from "./answers.ts";

const tags = ["system"];

export function systemRoutes(app: App, host: HttpHost): void {
  const { streams } = host;
  app.get(
    "/v1/backup",
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        operationId: "backup",
        summary: "Read a copy of all data, for `busbar restore`; one at a time",
        response: { 200: bytesOf("application/octet-stream", "The bytes"), ...failures },
      },
    },
    async ({ operations }, reply) => {
      const ended = streams.open();
      reply.raw.once("close", () => ended.abort());
      const bytes = await openOutput(operations.backup(), ended, limits.outputHeadersAfterMs);
      reply.header("cache-control", "no-store");
      reply.type("application/octet-stream").send(bytes);
      reply.raw.flushHeaders();
      return reply;
    },
  );

  app.get(
    "/v1/stats",
    {
      schema: {
        tags,
        operationId: "getStats",
        summary: "Show numbers of jobs, tasks and nodes, and statistics of the server",
        response: { 200: Stats, ...failures },
      },
    },
    ({ operations }) => operations.stats(),
  );

  const ok = { 200: object({ ok: flag("Always true") }), ...failures };
  app.get(
    "/healthz",
    {
      schema: {
        tags,
        operationId: "isAlive",
        summary: "Answer that the process is up",
        response: ok,
      },
    },
    async () => ({ ok: true }),
  );
  app.get(
    "/readyz",
    {
      schema: {
        tags,
        operationId: "isReady",
        summary: "Answer whether the server accepts commands",
        response: ok,
      },
    },
    async ({ operations }) => {
      if (operations.isReady()) return { ok: true };
      throw new AppError("unavailable", "the server is starting, stopping or broken");
    },
  );
  metricsRoute(app, host);
}

function metricsRoute(app: App, { traffic }: HttpHost): void {
  const metrics = renderMetrics(traffic);
  app.addHook("onClose", async () => metrics.close());
  app.get(
    "/metrics",
    {
      schema: {
        tags,
        operationId: "getMetrics",
        summary: "Metrics for Prometheus",
        response: {
          200: bytesOf("text/plain", "Metrics in the format of Prometheus"),
          ...failures,
        },
      },
    },
    async ({ operations }, reply) => {
      return reply.type(PROMETHEUS_TYPE).send(await metrics(operations));
    },
  );
}
