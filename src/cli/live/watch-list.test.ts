import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import type { Context } from "../context.ts";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeEach(async () => {
  server = await startFakeServer();
});
afterEach(() => server.close());

/** A command that runs until it is stopped, as by Ctrl-C. */
function start(line: string, terminal?: { columns: number; rows: number }) {
  let text = "";
  let stop: (exitCode: number) => void = () => undefined;
  let resize: () => void = () => undefined;
  const lists = server.lists.count;
  const size = { ...terminal };
  const stdout: Context["stdout"] = {
    isTerminal: terminal !== undefined,
    get columns() {
      return size.columns;
    },
    get rows() {
      return size.rows;
    },
    write: async (data) => void (text += String(data)),
  };
  const ended = runHere(["--server", server.address, ...line.split(" ")], {
    stdout,
    env: { NO_COLOR: "1" },
    onStop: (handler) => {
      stop = handler;
      return () => undefined;
    },
    onResize: (handler) => {
      resize = handler;
      return () => undefined;
    },
  });
  return {
    text: () => text,
    /** No later event is missed. */
    begun: () => eventually(() => server.lists.count > lists, { what: "a list" }),
    until: (part: RegExp) =>
      eventually(() => part.test(text), { what: () => `${part} in ${text}` }),
    resize: (to: { columns: number; rows: number }) => {
      Object.assign(size, to);
      resize();
    },
    async stop() {
      stop(130);
      return ended;
    },
  };
}

const submit = (...command: string[]) =>
  runHere(["--server", server.address, "submit", "--", ...command]);

describe("--watch without a terminal", () => {
  test("prints the list, then a line for each change, and ends quietly with 130", async () => {
    const watching = start("jobs --limit 2 -w");
    await watching.until(/old-119/);
    await submit("fail", "3");
    await watching.until(/121 +fail +failed/);
    const { code, stderr } = await watching.stop();
    expect([code, stderr]).toEqual([130, ""]);
    const lines = watching.text().trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ +ID +NAME +STATE/);
    expect(lines.slice(1, 3).map((each) => each.trim().split(/ +/)[0])).toEqual(["120", "119"]);
    const states = lines.slice(3).map((each) => each.trim().split(/ +/)[2]);
    expect(states).toEqual(["pending", "running", "failed"]);
  });

  test("prints one JSON value per line", async () => {
    const watching = start("jobs --state failed --watch -o json");
    await watching.begun();
    await submit("print", "x");
    await submit("fail", "4");
    await watching.until(/"exitCode":4/);
    await watching.stop();
    const rows = watching.text().trimEnd().split("\n");
    const all = rows.map((row) => JSON.parse(row) as { spec: { name: string }; state: string });
    expect(all).toMatchObject([{ spec: { name: "fail" }, state: "failed" }]);
  });

  test("prints that a row has left the list", async () => {
    const watching = start("jobs --state pending,running --watch -o name");
    const json = start("jobs --state pending --watch -o json");
    const table = start("jobs --state pending --watch");
    await Promise.all([watching, json, table].map((each) => each.begun()));
    await submit("hang");
    await json.until(/\{"removed":"121"\}/);
    await table.until(/121 is no longer listed/);
    await watching.until(/^121$/m);
    await Promise.all([watching.stop(), json.stop(), table.stop()]);
  });

  test("prints tasks of a job, and CSV with one header", async () => {
    await submit("stay");
    const watching = start("tasks 121 --watch -o csv");
    await watching.until(/^task,state/);
    await watching.stop();
    expect(watching.text().match(/task,state/g)).toHaveLength(1);
  });

  test("reads lists again whose rows have counts, and prints the changes", async () => {
    const watching = start("groups -w");
    await watching.until(/default/);
    server.groups.push({ name: "nightly", weight: 2 });
    await watching.until(/nightly/);
    await watching.stop();
    expect(watching.text().match(/default/g)).toHaveLength(1);
  });
});

describe("--watch on a terminal", () => {
  test("redraws the screen, and restores the terminal", async () => {
    const watching = start("jobs --limit 5 --watch", { columns: 80, rows: 6 });
    await watching.until(/old-117/);
    await submit("hang");
    await watching.until(/121 +hang +running/);
    const { code } = await watching.stop();
    expect(code).toBe(130);
    const text = watching.text();
    expect(text.startsWith("\u001b[?1049h\u001b[?25l")).toBe(true);
    const [, after = ""] = text.split("\u001b[?25h\u001b[?1049l");
    expect(after).toMatch(/ID.*\n.*121.*\n/); // The last frame stays.
    const frames = text.split("\u001b[H").slice(1);
    // Five jobs and a header in a terminal of six lines: the last one is the status.
    for (const frame of frames.slice(1)) expect(frame.split("\r\n").length).toBeLessThanOrEqual(6);
  });

  test("fits a terminal whose size changes", async () => {
    const watching = start("jobs --limit 5 --watch", { columns: 200, rows: 30 });
    await watching.until(/old-116/);
    watching.resize({ columns: 20, rows: 3 });
    await watching.until(/…/);
    await watching.stop();
    const last = watching.text().split("\u001b[H").at(-1)?.split("\u001b[?25h")[0] ?? "";
    expect(last.split("\r\n")).toHaveLength(3);
  });

  test("restores the terminal when it cannot continue", async () => {
    const ended = start("tasks 999 --watch", { columns: 80, rows: 6 });
    await ended.until(/1049l/);
    const { code, stderr } = await ended.stop();
    expect([code, stderr]).toEqual([1, "busbar: there is no job 999\n"]);
  });
});

test("--watch does not combine with options that events cannot show", async () => {
  const { code, stderr } = await runHere(["jobs", "--watch", "--node", "a"]);
  expect([code, stderr]).toEqual([
    2,
    "busbar: --node: cannot be combined with --watch: events of jobs do not name clusters and nodes\n",
  ]);
});
