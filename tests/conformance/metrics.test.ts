import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { limits } from "../../src/limits.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { pythonWith } from "./support/python-packages.ts";

// A real server's metrics, read by the parser of Prometheus' own library for Python.
const script = fileURLToPath(new URL("metrics/read.py", import.meta.url));
const GROUPS = limits.metricSeriesMax + 20;

type Sample = readonly [name: string, labels: Readonly<Record<string, string>>, value: number];
type Families = Readonly<
  Record<string, { readonly type: string; readonly samples: readonly Sample[] }>
>;

let site: Site;
let python = "";
beforeAll(async () => {
  python = await pythonWith("prometheus-python", ["prometheus_client==0.26.0"]);
  site = new Site();
  await site.startServer();
  await site.startAgent("n1", "--cluster", "blue");
}, 300_000);
afterAll(() => site.close());

async function scrape(): Promise<Families> {
  const answer = await fetch(`${site.http}/metrics`);
  const child = spawn(python, [script], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(await answer.text());
  return JSON.parse(await text(child.stdout)) as Families;
}

async function run(jobs: readonly { readonly spec: object }[]): Promise<void> {
  const before = Number((await site.client.getStats({})).tasksEnded);
  await site.client.submitJobs({ jobs: [...jobs] });
  const isOver = async () =>
    Number((await site.client.getStats({})).tasksEnded) >= before + jobs.length;
  await eventually(isOver, { what: "all jobs to end", timeoutMs: 90_000 });
}

const HISTOGRAMS = [
  "busbar_commit_seconds",
  "busbar_task_queue_wait_seconds",
  "busbar_task_start_latency_seconds",
  "busbar_task_run_seconds",
  "busbar_request_seconds",
];

/** One series: buckets that only grow, up to the count. */
function checkHistogram({ type, samples }: NonNullable<Families[string]>): void {
  expect(type).toBe("histogram");
  const series = Map.groupBy(samples, ([, labels]) => JSON.stringify({ ...labels, le: "" }));
  for (const [, all] of series) {
    const values = (suffix: string) =>
      all.filter(([name]) => name.endsWith(suffix)).map(([, , value]) => value);
    const buckets = values("_bucket");
    expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
    expect(all.find(([, { le }]) => le === "+Inf")?.[2]).toBe(buckets.at(-1));
    expect(values("_count")).toEqual([buckets.at(-1)]);
    expect(values("_sum")).toHaveLength(1);
  }
}

const countOf = (families: Families, name: string, labels: object = {}): number | undefined =>
  families[name]?.samples.find(
    ([sample, found]) =>
      sample === `${name}_count` && JSON.stringify(found) === JSON.stringify(labels),
  )?.[2];

test("histograms of a real server are what Prometheus expects, and count every task once", async () => {
  await run(Array.from({ length: 20 }, () => ({ spec: { command: ["/bin/true"] } })));
  const families = await scrape();
  for (const name of HISTOGRAMS) checkHistogram(families[name] ?? { type: "none", samples: [] });
  const labels = { group: "default", cluster: "blue" };
  expect(countOf(families, "busbar_task_run_seconds", labels)).toBe(20);
  expect(countOf(families, "busbar_task_queue_wait_seconds", labels)).toBe(20);
  expect(countOf(families, "busbar_task_start_latency_seconds", labels)).toBeGreaterThan(0);
  // The parser removes the suffix of a counter's name.
  const commits = families["busbar_commits"]?.samples[0]?.[2];
  expect(countOf(families, "busbar_commit_seconds")).toBe(commits);
  const { commitMsP99, commitMsMax } = await site.client.getStats({});
  expect(commitMsP99).toBeGreaterThan(0);
  expect(commitMsP99).toBeLessThanOrEqual(commitMsMax);
});

test("groups beyond the limit share one series, and no task is lost", async () => {
  const group = (at: number) => ({ spec: { command: ["/bin/true"], group: `g${at}` } });
  await run(Array.from({ length: GROUPS }, (_, at) => group(at)));
  const { samples = [] } = (await scrape())["busbar_task_run_seconds"] ?? {};
  const counts = samples.filter(([name]) => name.endsWith("_count"));
  expect(counts).toHaveLength(limits.metricSeriesMax + 1);
  expect(counts.reduce((sum, [, , value]) => sum + value, 0)).toBe(20 + GROUPS);
  const other = counts.filter(([, { group: name }]) => name === "(other)");
  expect(other).toEqual([
    [
      "busbar_task_run_seconds_count",
      { group: "(other)", cluster: "(other)" },
      1 + GROUPS - limits.metricSeriesMax,
    ],
  ]);
});
