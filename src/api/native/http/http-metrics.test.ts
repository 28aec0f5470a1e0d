import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { Histogram } from "../../../lib/histogram.ts";
import { limits } from "../../../limits.ts";
import { groupMetrics } from "./metrics.ts";
import { formatMetrics } from "./prometheus.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { type Http, httpClient } from "../testing/http-client.ts";
import { aGroup, someStats } from "../testing/view-builders.ts";
import { createTraffic } from "../../grpc/traffic.ts";

let isReady = true;
const operations = createFakeOperations({
  isReady: () => isReady,
  stats: async () => {
    if (!isReady) throw new AppError("unavailable", "not yet");
    return someStats({ capacity: { 'weird"\\\nname': 3 } });
  },
  listGroups: async () => ({
    groups: [aGroup({ name: "physics", usage: { cpuMs: 1, wallMs: 2, majorFaults: 3 } })],
    revision: 1,
  }),
  times: async () => ({ commits: timesOf(0.7), tasks: [aSeries] }),
});
const timesOf = (...times: number[]): Histogram => {
  const histogram = new Histogram([1, 1_000]);
  for (const ms of times) histogram.observe(ms);
  return histogram;
};
const aSeries = {
  group: "physics",
  cluster: "blue",
  queueWait: timesOf(2, 500, 3_000),
  startLatency: timesOf(),
  runTime: timesOf(1),
};
const traffic = createTraffic();
let server: HttpServer;
let http: Http;
beforeAll(async () => {
  server = await createHttpServer({
    operations,
    address: "127.0.0.1:0",
    logger: silentLogger,
    version: "1",
    traffic,
  });
  http = httpClient(server.address);
});
afterAll(() => server.close());

/** Every line of Prometheus' text format, strictly. */
const LINE =
  /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="([^"\\\n]|\\["\\n])*"(,[a-z]+="([^"\\\n]|\\["\\n])*")*\})? (-?\d+(\.\d+)?(e[+-]?\d+)?|NaN|[+-]Inf))$/;

test("metrics are the text of Prometheus, each family once and typed", async () => {
  traffic.record("grpc", "SubmitJobs", { code: "ok", ms: 2 });
  await http.get("/v1/jobs/99");
  const { text, status, headers } = await http.get("/metrics");
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = text.trimEnd().split("\n");
  expect(lines.filter((line) => !LINE.test(line))).toEqual([]);
  const typed = lines.filter((line) => line.startsWith("# TYPE")).map((line) => line.split(" ")[2]);
  expect(new Set(typed).size).toBe(typed.length);
  for (const line of [
    'busbar_build_info{version="1.2.3",store="memory"} 1',
    "busbar_ready 1",
    'busbar_jobs{state="running"} 2',
    'busbar_tasks{state="waiting"} 0',
    'busbar_nodes{state="lost"} 1',
    String.raw`busbar_capacity{resource="weird\"\\\nname"} 3`,
    "busbar_commits_total 9",
    "busbar_commit_mean_seconds 0.0005",
    "busbar_task_cpu_seconds_total 1.5",
    "busbar_task_wall_seconds_total 2.0005",
    "busbar_task_major_faults_total 4",
    'busbar_requests_total{door="grpc",method="SubmitJobs",code="ok"} 1',
    'busbar_requests_total{door="http",method="GET /v1/jobs/:id",code="not_found"} 1',
    'busbar_commit_seconds_bucket{le="0.001"} 1',
    "busbar_commit_seconds_sum 0.0007",
    "busbar_commit_seconds_count 1",
    'busbar_task_queue_wait_seconds_bucket{group="physics",cluster="blue",le="0.001"} 0',
    'busbar_task_queue_wait_seconds_bucket{group="physics",cluster="blue",le="1"} 2',
    'busbar_task_queue_wait_seconds_bucket{group="physics",cluster="blue",le="+Inf"} 3',
    'busbar_task_queue_wait_seconds_sum{group="physics",cluster="blue"} 3.502',
    'busbar_task_start_latency_seconds_count{group="physics",cluster="blue"} 0',
    'busbar_task_run_seconds_count{group="physics",cluster="blue"} 1',
    'busbar_request_seconds_bucket{door="grpc",method="SubmitJobs",le="0.001"} 0',
    'busbar_request_seconds_bucket{door="grpc",method="SubmitJobs",le="0.005"} 1',
    'busbar_request_seconds_bucket{door="grpc",method="SubmitJobs",le="+Inf"} 1',
    'busbar_request_seconds_sum{door="grpc",method="SubmitJobs"} 0.002',
    'busbar_request_seconds_count{door="grpc",method="SubmitJobs"} 1',
  ]) {
    expect(lines).toContain(line);
  }
  for (const name of [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "nodejs_heap_used_bytes",
  ]) {
    expect(
      Number(lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]),
    ).toBeGreaterThan(0);
  }
  expect(text).toMatch(/nodejs_eventloop_delay_max_seconds \d/);
});

test("the reference has every metric, with its type and labels, and no other", async () => {
  const { text } = await http.get("/metrics");
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  const shown = types.map(([, name = "", type = ""]) => {
    const sample = new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? `, "m").exec(text);
    const labels = [...(sample?.[1] ?? "").matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)];
    const names = labels.map(([, label]) => label).filter((label) => label !== "le");
    return `${name} ${type} ${names.join(" ")}`.trim();
  });
  const page = readFileSync(
    new URL("../../../../docs/reference/metrics.md", import.meta.url),
    "utf8",
  );
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*)\|/gm)];
  const documented = rows.map(([, name, type, labels = ""]) =>
    `${name} ${type} ${labels.replaceAll(/[`,]/g, "").trim()}`.trim(),
  );
  expect(documented.toSorted()).toEqual(shown.toSorted());
});

test("a server that is not ready still shows the metrics of its process", async () => {
  isReady = false;
  const { status, text } = await http.get("/metrics");
  isReady = true;
  expect(status).toBe(200);
  expect(text).toMatch(/^busbar_ready 0$/m);
  expect(text).toMatch(/^process_cpu_seconds_total /m);
  expect(text).not.toMatch(/busbar_jobs/);
});

test("callers cannot invent methods to count", async () => {
  await http.get("/v1/some-path-1");
  await http.get("/v1/some-path-2");
  const { text } = await http.get("/metrics");
  expect(text).not.toMatch(/some-path/);
  expect(text).toMatch(/method="GET unmatched",code="not_found"\} 2/);
});

test("non-finite values have names, and help is one line", () => {
  const samples = [{ value: Number.NaN }, { value: Infinity }, { value: -Infinity }];
  const family = { name: "x", help: "a\nb\\c", type: "gauge", samples } as const;
  expect(formatMetrics([family, { ...family, name: "y", samples: [] }])).toBe(
    "# HELP x a\\nb\\\\c\n# TYPE x gauge\nx NaN\nx +Inf\nx -Inf\n",
  );
});

test("groups have their own series, a bounded number: those with the highest usage", () => {
  const groups = Array.from({ length: limits.metricGroupsMax + 5 }, (_, at) =>
    aGroup({ name: `g${at}`, usage: { cpuMs: at * 1_000, wallMs: 500, majorFaults: 2 } }),
  );
  const [cpu, wall, faults] = groupMetrics([aGroup({ name: "idle" }), ...groups]);
  expect(cpu?.samples.length).toBe(limits.metricGroupsMax);
  expect(cpu?.samples[0]).toEqual({ labels: { group: "g104" }, value: 104 });
  expect(wall?.samples[0]?.value).toBe(0.5);
  expect(faults?.samples[0]?.value).toBe(2);
  expect(cpu?.samples.some(({ labels }) => labels?.["group"] === "idle")).toBe(false);
});
