import { afterEach, beforeEach, expect, test } from "vitest";
import { stateOf } from "../../client/state.ts";
import { serve } from "../../client/testing/serve.ts";
import { eventually } from "../../testing/eventually.ts";
import { runHere } from "../testing/context.ts";

const NODES = 600;
let ended = 0;
let pages: (number | undefined)[] = [];
let server: Awaited<ReturnType<typeof serve>>;
beforeEach(async () => {
  ended = 0;
  pages = [];
  server = await serve({
    getStats: () => ({
      version: "0.0.0",
      uptimeMs: 3_000n,
      tasks: { running: 3n, pending: 7n, succeeded: 9n },
      nodes: { connected: BigInt(NODES) },
      capacity: { cpu: 1_200 },
      used: { cpu: 3 },
      tasksEnded: BigInt((ended += 20)),
      placements: 5n,
    }),
    listNodes: ({ pageSize }) => {
      pages.push(pageSize);
      return {
        nodes: Array.from({ length: Math.min(NODES, pageSize ?? 100) }, (_, at) => ({
          name: `n${at}`,
          state: "connected",
          capacity: { cpu: 2, memory: 4 * 2 ** 30 },
          used: { cpu: at === 3 ? 2 : 0, memory: at === 4 ? 2 ** 30 : 0 },
          tasks: at === 5 ? 9 : 0,
        })),
        nextPageToken: "more",
      };
    },
    listGroups: () => ({
      groups: [
        { name: "quiet", tasks: { running: 1n } },
        { name: "busy", tasks: { running: 2n, pending: 7n } },
      ],
    }),
    listJobs: ({ filter, pageSize }) => {
      pages.push(pageSize);
      const isPending = filter?.states[0] === stateOf("pending");
      const job = (id: string, reason: string | undefined, tasks: object) => ({
        id,
        state: stateOf(isPending ? "pending" : "running"),
        spec: { name: `job-${id}`, group: "busy" },
        submittedAtMs: 990_000n,
        startedAtMs: isPending ? undefined : 995_000n,
        reason,
        tasks,
      });
      if (!isPending) return { jobs: [job("2", undefined, { running: 3n })] };
      return { jobs: [job("9", "no room", { pending: 4n }), job("8", "no gpu", { pending: 3n })] };
    },
  });
});
afterEach(() => server.close());

const top = (line: string, given = {}) =>
  runHere(["--server", server.address, "top", ...line.split(" ").filter((word) => word !== "")], {
    env: { NO_COLOR: "1" },
    ...given,
  });

test("one frame has totals, reasons, rates, waits, and the busiest nodes", async () => {
  let nowMs = 1_000_000;
  const sleep = async (delayMs: number) => void (nowMs += delayMs);
  const { code, stdout } = await top("--once", { nowMs: () => nowMs, sleep });
  expect(code).toBe(0);
  expect(stdout).toContain("7 pending, 3 running; 20 ended/s, 0.0 placed/s");
  expect(stdout).toMatch(/4: no room\n.*3: no gpu/);
  expect(stdout).toContain("pending for up to 11s, running jobs waited 5.0s");
  expect(stdout.indexOf("busy")).toBeLessThan(stdout.indexOf("quiet"));
  expect(stdout).toMatch(/NODE +STATE +TASKS +CPU +FREE[^\n]*\nn3 +connected +0 +2\/2 +0 /);
});

test("however many nodes there are, a frame requests a bounded number, and shows that", async () => {
  const { stdout } = await top("", { sleep: async () => undefined });
  expect(stdout).toContain("and 100 more nodes (of the first 500 by name)");
  expect(Math.max(...pages.map((size) => size ?? Infinity))).toBeLessThanOrEqual(500);
});

test("sorts by other keys, and prints one JSON value", async () => {
  const sleep = async () => undefined;
  const first = async (order: string) =>
    /NODE[^\n]*\n(n\d+)/.exec((await top(`--sort ${order}`, { sleep })).stdout)?.[1];
  expect([await first("memory"), await first("tasks"), await first("name")]).toEqual([
    "n4",
    "n5",
    "n0",
  ]);
  const frame = JSON.parse((await top("-o json", { sleep })).stdout) as { stats: object };
  expect(frame.stats).toMatchObject({ tasks: { running: 3 } });
});

test("on a terminal keys sort and end it, and the terminal is restored", async () => {
  let text = "";
  let press: (key: string) => void = () => undefined;
  let isUndone = false;
  const running = top("", {
    stdout: {
      isTerminal: true,
      columns: 100,
      rows: 20,
      write: async (data: string | Uint8Array) => void (text += String(data)),
    },
    onKey: (handler: (key: string) => void) => {
      press = handler;
      return () => (isUndone = true);
    },
  });
  const last = (): string => text.split("\u001b[H").at(-1) ?? "";
  await eventually(() => /\nn3 /.test(last()), { what: () => text });
  expect(last().split("\r\n").length).toBeLessThanOrEqual(20);
  press("m");
  await eventually(() => last().includes("(memory)") && /\nn4 /.test(last()), { what: () => text });
  press("q");
  expect((await running).code).toBe(0);
  expect(isUndone).toBe(true);
  expect(text).toContain("\u001b[?25h\u001b[?1049l");
});
