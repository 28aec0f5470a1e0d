import { describe, expect, test } from "vitest";
import { stateNames } from "../../client/state.ts";
import type { JobRow, NodeRow, TaskCountsRow, TaskRow } from "../rows.ts";
import { renderEvent } from "./event.ts";
import { renderExplanation } from "./explanation.ts";
import { renderJob } from "../jobs/render-job.ts";
import { renderJobs } from "./jobs.ts";
import { renderNode, renderNodes } from "./nodes.ts";
import { clean, cut, displayWidth, type TerminalPage } from "./page.ts";
import { renderTable } from "./table.ts";
import { renderTask, renderTasks } from "./tasks.ts";
import { ago, elapsed, stateStyle, usage } from "./values.ts";

const page: TerminalPage = { width: undefined, colour: false, nowMs: 100_000_000 };

const counts = (given: Partial<TaskCountsRow> = {}): TaskCountsRow => ({
  ...(Object.fromEntries(stateNames.map((name) => [name, 0])) as TaskCountsRow),
  ...given,
});

const aJob = (given: Partial<JobRow> = {}): JobRow => ({
  id: "17",
  spec: { name: "train", group: "default", priority: 0, command: ["sh", "-c", "echo 'hi'"] },
  state: "running",
  tasks: counts({ running: 1 }),
  taskTotal: 1,
  submittedAtMs: page.nowMs - 90_000,
  startedAtMs: page.nowMs - 65_000,
  submittedBy: "",
  revision: 1,
  ...given,
});

const aTask = (given: Partial<TaskRow> = {}): TaskRow => ({
  id: "17.3",
  jobId: "17",
  index: 3,
  state: "failed",
  attempt: 2,
  node: "rack1",
  startedAtMs: page.nowMs - 5_000,
  endedAtMs: page.nowMs - 4_000,
  exitCode: 137,
  signal: "SIGKILL",
  past: [],
  revision: 1,
  ...given,
});

describe("tables", () => {
  const columns = [
    { title: "N", align: "right" as const, value: (row: string[]) => row[0] ?? "" },
    { title: "TEXT", value: (row: string[]) => row[1] ?? "" },
    { title: "NONE", value: () => "" },
  ];
  const rows = [
    ["1", "short"],
    ["22", "a rather long text that does not fit"],
  ];

  test("are as wide as necessary, without empty columns and trailing blanks", () => {
    expect(renderTable(columns, rows, page)).toBe(
      " N  TEXT\n 1  short\n22  a rather long text that does not fit",
    );
  });

  test("fit a terminal by truncating the widest column", () => {
    expect(renderTable(columns, rows, { ...page, width: 20 })).toBe(
      " N  TEXT\n 1  short\n22  a rather long t…",
    );
  });

  test("never exceed the width, whatever their content", () => {
    const wide = { title: "W", value: (row: string[]) => (row[1] ?? "").repeat(3) };
    for (const width of [24, 30, 50, 79]) {
      const text = renderTable([...columns, wide], rows, { ...page, width });
      for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    }
  });

  test("give up truncating on an absurdly narrow terminal rather than loop", () => {
    expect(renderTable(columns, rows, { ...page, width: 1 })).toContain("…");
  });

  test("with colours only differ by the colours", () => {
    const coloured = renderJobs([aJob({ state: "failed" })], { ...page, colour: true });
    expect(coloured).toContain("\u001b[31mfailed");
    // oxlint-disable-next-line no-control-regex
    const stripped = coloured.replaceAll(/\u001b\[\d+m/g, "");
    expect(stripped).toBe(renderJobs([aJob({ state: "failed" })], page));
  });

  test("show no control characters of other people", () => {
    expect(clean("a\u001b[2Jb\r\nc\u202e")).toBe("a\u{fffd}[2Jb\u{fffd} c\u{fffd}");
  });

  test("know that some characters are two columns wide", () => {
    expect(displayWidth("日本x")).toBe(5);
    expect(cut("日本語", 4)).toBe("日…");
    expect(cut("abc", 3)).toBe("abc");
  });
});

describe("times", () => {
  const times: readonly [number, string][] = [
    [0, "now"],
    [-3_000, "now"],
    [42_000, "42s ago"],
    [3_599_000, "59m ago"],
    [47 * 3_600_000, "47h ago"],
    [72 * 3_600_000, "3d ago"],
    [-60_000, "in 1m"],
  ];
  for (const [ms, want] of times) {
    test(`${ms} ms is "${want}"`, () => expect(ago(page.nowMs - ms, page.nowMs)).toBe(want));
  }
  const spans: readonly [number, string][] = [
    [-5, "0ms"],
    [12, "12ms"],
    [3_440, "3.4s"],
    [9_999, "10s"],
    [65_000, "1m05s"],
    [59_999, "1m00s"],
    [8_000_000, "2h13m"],
    [276_000_000, "3d04h"],
  ];
  for (const [ms, want] of spans) {
    test(`${ms} ms took ${want}`, () => expect(elapsed(ms)).toBe(want));
  }
});

describe("rows", () => {
  test("a list of jobs shows progress only where there is some", () => {
    const array = aJob({ id: "18", taskTotal: 10, tasks: counts({ succeeded: 3, failed: 1 }) });
    const failed = aJob({ id: "19", state: "failed", exitCode: 3, endedAtMs: page.nowMs - 60_000 });
    expect(renderJobs([aJob(), array, failed], page)).toMatchInlineSnapshot(`
      "ID  NAME   STATE    TASKS  GROUP    SUBMITTED   TOOK  REASON
      17  train  running         default  1m ago     1m05s
      18  train  running   4/10  default  1m ago     1m05s
      19  train  failed          default  1m ago      5.0s  exit 3"
    `);
  });

  test("one job shows its request, ready to be copied", () => {
    expect(renderJob(aJob(), page)).toMatchInlineSnapshot(`
      "Job:        17
      Name:       train
      State:      running
      Submitted:  1970-01-02 03:45:10Z (1m ago)
      Started:    1970-01-02 03:45:35Z (1m ago)
      Took:       1m05s
      Group:      default
      Command:    sh -c 'echo '\\''hi'\\'''"
    `);
  });

  test("a killed task shows the signal, a waiting one shows until when", () => {
    const waiting = aTask({ id: "17.4", state: "waiting", notBeforeMs: page.nowMs + 3_000 });
    expect(renderTasks([aTask(), waiting], page)).toMatchInlineSnapshot(`
      "TASK  STATE    ATTEMPT  NODE   STARTED  TOOK     EXIT  REASON
      17.3  failed         2  rack1  5s ago   1.0s  SIGKILL
      17.4  waiting        2  rack1  5s ago   1.0s  SIGKILL  tried again in 3.0s"
    `);
  });

  test("a task that may start again, and waits for a node, shows no time", () => {
    const due = aTask({ id: "17.4", state: "waiting", notBeforeMs: page.nowMs - 3_000 });
    expect(renderTasks([due], page)).not.toContain("tried again");
  });

  test("offered tasks show the cluster, and so do all beside them", () => {
    const offered: TaskRow = {
      id: "17.4",
      jobId: "17",
      index: 4,
      state: "offered",
      attempt: 1,
      cluster: "blue",
      past: [],
      revision: 1,
    };
    expect(renderTasks([aTask({ cluster: "default" }), offered], page)).toMatchInlineSnapshot(`
      "TASK  STATE    ATTEMPT  NODE   CLUSTER  STARTED  TOOK     EXIT
      17.3  failed         2  rack1  default  5s ago   1.0s  SIGKILL
      17.4  offered        1         blue"
    `);
    expect(renderTasks([aTask({ cluster: "default" })], page)).not.toContain("CLUSTER");
    expect(renderTask(offered, page)).toMatch(/State: +offered\n.*Cluster: +blue$/s);
    expect(renderEvent({ revision: 5, task: offered }, page)).toBe(
      "5  task 17.4  offered  to cluster blue",
    );
    expect(stateStyle("offered")).toBe(stateStyle("assigned"));
    const some = aJob({ taskTotal: 3, tasks: counts({ offered: 2, running: 1 }) });
    expect(renderJob(some, page)).toContain("3: 1 running, 2 offered");
  });

  test("the graph request of a job is shown in words, instead of amounts, with its selection", () => {
    const request = [[{ type: "node", with: [{ type: "core", count: 2 }] }]];
    const show = (more: Partial<JobRow["spec"]>): string =>
      renderJob(aJob({ spec: { ...aJob().spec, resources: { cpu: 2 }, ...more } }), page);
    expect(show({ request })).toMatch(/\nRequest: +1 node with 2 cores$/);
    expect(show({ request })).not.toContain("Needs");
    expect(show({})).toMatch(/\nNeeds: +cpu 2$/);
    const selects: readonly [NonNullable<JobRow["spec"]["select"]>, string][] = [
      [{ strategy: "cheapest", options: {} }, "cheapest"],
      [{ parameters: { n: 4, isSpot: true } }, "the server's (isSpot=true,n=4)"],
      [{ strategy: "cheapest", options: { key: "k" } }, 'cheapest (options {"key":"k"})'],
    ];
    for (const [select, text] of selects) expect(show({ select })).toContain(`Select:     ${text}`);
    const long = { strategy: "constraint", options: { priorities: "x".repeat(500) } };
    expect(show({ select: long })).toMatch(/constraint \(options .{91}…\)$/);
  });

  test("the usage of attempts is shown where it is known", () => {
    const usage = { cpuMs: 3_420.5, wallMs: 4_000, maxRssBytes: 50 * 2 ** 20, majorFaults: 0 };
    const fields = /CPU time: +3\.4s\n.*Wall time: +4\.0s\n.*Max memory: +50MiB\n.*Page-ins: +0/s;
    expect(renderTask(aTask({ usage }), page)).toMatch(fields);
    expect(renderJob(aJob({ usage }), page)).toMatch(fields);
    const table = renderTasks([aTask({ usage }), aTask({ usage: { cpuMs: 12 } })], page);
    expect(table).toMatch(/CPU +MEMORY.*3\.4s +50MiB.*12ms/s);
    expect(renderTask(aTask(), page)).not.toMatch(/CPU|memory|Page-ins/);
    expect(renderTasks([aTask()], page)).not.toMatch(/CPU|MEMORY/);
  });
  test("one task shows its earlier attempts", () => {
    const past = [{ attempt: 1, node: "rack2", endedAtMs: page.nowMs, reason: "node lost" }];
    expect(renderTask(aTask({ past }), page)).toMatch(
      /EARLIER ATTEMPT {2}NODE .*REASON\n +1 +rack2 +node lost$/,
    );
  });

  test("nodes show used and total capacity", () => {
    const node: NodeRow = {
      name: "rack1",
      cluster: "default",
      state: "connected",
      capacity: { cpu: 8, memory: 34_359_738_368, power: 50 },
      used: { cpu: 1.5 },
      labels: {},
      tasks: 2,
      held: 0,
      isClusterAgent: false,
      agentVersion: "",
      connectedAtMs: page.nowMs - 5_000,
      revision: 1,
    };
    expect(renderNodes([node], page)).toMatchInlineSnapshot(`
      "NAME   CLUSTER  STATE      TASKS    CPU    MEMORY  OTHER       SINCE
      rack1  default  connected      2  1.5/8  0B/32GiB  power 0/50  5s ago"
    `);
    expect(usage("gpu", node)).toBe("");
    expect(renderNode({ ...node, address: "192.0.2.7" }, page)).toMatch(
      /^Address: +192\.0\.2\.7$/m,
    );
    expect(renderNode(node, page)).not.toContain("Address");
  });

  test("an explanation shows what waiting can change", () => {
    const row = {
      jobId: "17",
      state: "pending" as const,
      summary: "no node has room",
      reasons: [{ reason: "too small: cpu", nodes: 2, never: true, examples: ["a", "b"] }],
      clusters: [],
      hints: ["ask for less cpu"],
      ahead: 3,
      nodes: 2,
      dependencies: [],
    };
    expect(renderExplanation(row, page)).toMatchInlineSnapshot(`
      "job 17 is pending: no node has room
      3 pending tasks go before it.

      NODES  REASON          WAITING HELPS  FOR EXAMPLE
        2/2  too small: cpu  never          a, b

      What would help:
      - ask for less cpu"
    `);
  });

  test("an explanation shows the answers of clusters, and the cheapest change before the hints", () => {
    const row = {
      jobId: "17",
      state: "pending" as const,
      summary: "no cluster could ever take one",
      reasons: [],
      clusters: [
        {
          cluster: "blue",
          kind: "pulling",
          verdict: "later",
          reasons: ["nodes_free > 0: is false"],
        },
        { cluster: "default", kind: "managed", verdict: "now", reasons: [] },
        {
          cluster: "red",
          kind: "pulling",
          verdict: "never",
          reasons: ["no gpu", "1 node, 2 requested"],
        },
      ],
      hints: ["ask for less"],
      cheapestChange: "ask for 1 node",
      ahead: 0,
      nodes: 0,
      dependencies: [],
    };
    expect(renderExplanation(row, page)).toMatchInlineSnapshot(`
      "job 17 is pending: no cluster could ever take one

      CLUSTER  KIND     WHEN   WHY
      blue     pulling  later  nodes_free > 0: is false
      default  managed  now
      red      pulling  never  no gpu; or 1 node, 2 requested

      Cheapest change: ask for 1 node

      What would help:
      - ask for less"
    `);
    expect(renderExplanation(row, { ...page, colour: true })).toContain(
      "\n\u001b[1mCheapest change: ask for 1 node\u001b[22m\n",
    );
  });

  test("an explanation lists the dependencies of a job", () => {
    const one = { name: "build", met: false, impossible: false };
    const row = {
      jobId: "17",
      state: "pending" as const,
      summary: "it waits for job 12 (build) to succeed",
      reasons: [],
      clusters: [],
      hints: ["see that job: busbar explain 12"],
      ahead: 0,
      nodes: 2,
      dependencies: [
        { ...one, jobId: "12", state: "running", wants: "to succeed" },
        { ...one, jobId: "9.3", name: "sweep", state: "failed", wants: "to end", met: true },
      ],
    };
    expect(renderExplanation(row, page)).toMatchInlineSnapshot(`
      "job 17 is pending: it waits for job 12 (build) to succeed

      WAITS FOR  NAME   STATE    WANTED      MET
             12  build  running  to succeed  not yet
            9.3  sweep  failed   to end      yes

      What would help:
      - see that job: busbar explain 12"
    `);
  });

  test("the dependencies of a job are shown as they were written", () => {
    const spec = {
      ...aJob().spec,
      dependsOn: [
        { kind: "afterok", on: ["build", "17.3"] },
        { kind: "afterany", on: ["a", "b", "c"], atLeast: 2 },
        { kind: "singleton", name: "nightly" },
      ],
    };
    expect(renderJob(aJob({ spec, state: "skipped" }), page)).toContain(
      "afterok build, 17.3; afterany 2 of a, b, c; singleton nightly",
    );
  });

  test("an event is one line", () => {
    expect(renderEvent({ revision: 5, task: aTask() }, page)).toBe(
      "5  task 17.3  failed  on rack1 attempt 2 SIGKILL",
    );
    expect(renderEvent({ revision: 5, job: aJob() }, page)).toBe("5  job 17  running  train");
  });

  test("an event names the principal of the change", () => {
    const shown = (given: Partial<JobRow>): string =>
      renderEvent({ revision: 5, job: aJob(given) }, page);
    expect(shown({ state: "pending", submittedBy: "local" })).toBe(
      "5  job 17  pending  train by local",
    );
    const cancelled = { state: "cancelled", cancelledBy: "cluster:blue" } as const;
    expect(shown({ ...cancelled, reason: "too late" })).toBe(
      "5  job 17  cancelled  train too late by cluster:blue",
    );
    expect(shown({ ...cancelled, reason: "cancelled by cluster:blue" })).toBe(
      "5  job 17  cancelled  train cancelled by cluster:blue",
    );
    expect(renderJob(aJob(cancelled), page)).toMatch(/Cancelled by: +cluster:blue/);
    const removed = { kind: "node", id: "w1", by: "local" };
    expect(renderEvent({ revision: 5, removed }, page)).toBe("5  node w1  removed  by local");
  });
});
