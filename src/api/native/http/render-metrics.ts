import { AppError } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { processConnections } from "../../grpc/connections/limit-connections.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import {
  createProcessMeter,
  groupMetrics,
  statsMetrics,
  timeMetrics,
  trafficMetrics,
} from "./metrics.ts";
import { counter, formatMetrics, gauge, type MetricFamily } from "./prometheus.ts";

interface MetricsText {
  (operations: Operations): Promise<string>;
  close(): void;
}

/** Everything that is measured, as Prometheus reads it. */
export function renderMetrics(traffic: Traffic): MetricsText {
  const meter = createProcessMeter();
  const render = async (operations: Operations): Promise<string> =>
    formatMetrics([
      gauge("busbar_ready", "Whether the server accepts commands", operations.isReady() ? 1 : 0),
      ...(await onceReady(operations.stats().then(statsMetrics))),
      ...(await onceReady(operations.listGroups().then(({ groups }) => groupMetrics(groups)))),
      ...timeMetrics(await operations.times()),
      ...trafficMetrics(traffic),
      counter(
        "busbar_connections_refused_total",
        "Connections that were closed at once, because others need the file descriptors",
        processConnections.refused,
      ),
      ...meter.metrics(),
    ]);
  return Object.assign(render, { close: () => meter.close() });
}

/** The process metrics matter most when a server is not ready. */
const onceReady = (families: Promise<MetricFamily[]>): Promise<MetricFamily[]> =>
  families.catch((error: unknown) => {
    if (error instanceof AppError && error.code === "unavailable") return [];
    throw error;
  });
