import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageRoot } from "../lib/files/package-root.ts";
import type { Clock } from "../ports/clock.ts";
import { createSystemClock } from "./clock.ts";
import { readInput } from "./input.ts";
import { formatLogLine } from "./logger.ts";
import { detectResources } from "./machine.ts";
import { writeNewFiles } from "./output-files.ts";
import { ownCommand } from "./own-command.ts";
import { createSystemRandom } from "./random.ts";
import { supervise } from "./supervise.ts";
import { silentLogger } from "../testing/silent-logger.ts";

/** No waiting between restarts; time stands still. */
const hasty: Clock = {
  nowMs: () => 0,
  after(_, wake) {
    const timer = setImmediate(wake);
    return () => clearImmediate(timer);
  },
};

test("messages name the command as its user calls it", () => {
  const project = { npm_config_local_prefix: "/home/ada/app" }; // npx sets it, also for what its programs start
  const local = "/home/ada/app/node_modules/busbar";
  const root = packageRoot(import.meta.dirname);
  expect([
    ownCommand(project, root),
    ownCommand(project, join(root, "docs")),
    ownCommand(project, dirname(root)),
    ownCommand(project, "/a/far/away/directory/of/a/user/with/a/long/name"),
    ownCommand({ PATH: `/bin:${root}` }, "/"),
    ownCommand({}, "/", local),
    ownCommand(project, "/", "/usr/lib/node_modules/busbar"),
    ownCommand(project, "/", local),
  ]).toEqual([
    "./busbar",
    "../busbar",
    `./${basename(root)}/busbar`,
    join(root, "busbar"),
    "busbar",
    "busbar",
    "busbar",
    "npx busbar",
  ]);
});

describe("supervise", () => {
  test("restarts a child that dies, and gives up when it dies again and again", async () => {
    let starts = 0;
    const start = () => {
      starts += 1;
      return spawn("sh", ["-c", "exit 7"]);
    };
    const supervision = { name: "agent", start, clock: hasty, logger: silentLogger };
    await expect(supervise(supervision, new AbortController().signal)).rejects.toThrow(
      "the agent ended 6 times within a minute, at last with exit code 7",
    );
    expect(starts).toBe(6);
  });

  test("ends the child and resolves when its signal fires", async () => {
    const stop = new AbortController();
    const child = spawn("sleep", ["1000"]);
    child.once("spawn", () => stop.abort());
    const supervision = {
      name: "agent",
      start: () => child,
      clock: createSystemClock(),
      logger: silentLogger,
    };
    await supervise(supervision, stop.signal);
    expect(child.signalCode).toBe("SIGTERM");
  });

  test("a program that does not exist counts as a death", async () => {
    const start = () => spawn("/does/not/exist");
    const supervision = { name: "agent", start, clock: hasty, logger: silentLogger };
    await expect(supervise(supervision, new AbortController().signal)).rejects.toThrow(/ENOENT/);
  });
});

test("a log line becomes text; a line that is not JSON stays unchanged", () => {
  const line =
    '{"level":"warn","time":"2026-03-01T12:00:05.123Z","part":"agent","n":1,"why":"a b","msg":"lost"}\n';
  expect(formatLogLine(line)).toBe('12:00:05 warn  agent: lost n=1 why="a b"\n');
  const wild = JSON.stringify({
    time: "",
    level: "info",
    part: "a",
    msg: "b\u001b[2J\r\nc",
    n: "\u009b\u0008x",
  });
  expect(formatLogLine(wild)).toMatch(/^[^\p{Cc}]+\n$/u);
  expect(formatLogLine("oops\n")).toBe("oops\n");
});

test("the clock wakes once, and not at all after a cancel", async () => {
  const clock = createSystemClock();
  const cancel = clock.after(0, () => expect.unreachable());
  cancel();
  await new Promise<void>((resolve) => void clock.after(1, resolve));
  // Longer than one timer can be: must not fire at once.
  const cancelLong = clock.after(2 ** 40, () => expect.unreachable());
  await new Promise<void>((resolve) => void clock.after(5, resolve));
  cancelLong();
});

test("random texts have the requested form", () => {
  const random = createSystemRandom();
  expect(random.token(16)).toMatch(/^[0-9a-f]{32}$/);
  expect(random.fraction()).toBeLessThan(1);
});

test("a machine has a cpu and memory", () => {
  const { cpu, memory } = detectResources();
  expect(cpu).toBeGreaterThan(0);
  expect(memory).toBeGreaterThan(1_000_000);
});

test("a file is read up to a limit, and an error names its cause", async () => {
  const self = import.meta.filename;
  expect((await readInput(self, 1_000_000)).toString()).toContain("read up to a bound");
  await expect(readInput(self, 10, "; split it")).rejects.toThrow(/is larger than 10B; split it$/);
  await expect(readInput("/no/such", 10)).rejects.toThrow("/no/such: there is no such file");
  await expect(readInput("/", 10)).rejects.toThrow("is a directory");
});

test("files are written into a new folder, and none when one of them exists", async () => {
  const root = mkdtempSync(join(tmpdir(), "busbar-files-"));
  try {
    const folder = join(root, "a/b");
    expect(await writeNewFiles(folder, { one: "1", two: "2" })).toEqual([
      join(folder, "one"),
      join(folder, "two"),
    ]);
    await expect(writeNewFiles(folder, { three: "3", two: "other" })).rejects.toThrow(
      /two: already exists/,
    );
    expect(readdirSync(folder)).toEqual(["one", "two"]);
    expect(readFileSync(join(folder, "two"), "utf8")).toBe("2");
    await expect(writeNewFiles(join(folder, "one"), { x: "" })).rejects.toThrow(/cannot write/);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
