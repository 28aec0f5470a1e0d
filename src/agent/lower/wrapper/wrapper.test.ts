import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { jobScript, parseExit, wrapperOf } from "./wrapper.ts";
import type { WrappedWork } from "./wrapper.ts";

let directory: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), "busbar-wrapper-")), "with 'quote' $d %");
  mkdirSync(directory);
});
afterEach(() => {
  rmSync(join(directory, ".."), { recursive: true, force: true });
});

/** Runs the job's script with its id in the environment, as a scheduler does. */
function run(argv: readonly string[], over: Partial<WrappedWork> = {}, id = "7") {
  const ownId = "$FAKE_ID";
  const text = wrapperOf({
    directory,
    argv,
    env: {},
    cwd: "/",
    ownId,
    mark: "test.1.",
    writesOutput: false,
    ...over,
  });
  writeFileSync(join(directory, "wrapper"), text);
  const script = jobScript('"$WRAPPER"');
  const env = { PATH: process.env["PATH"], FAKE_ID: id, WRAPPER: join(directory, "wrapper") };
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-s"], {
    input: script,
    env,
    encoding: "utf8",
  });
  const path = join(directory, "exit");
  const exit = existsSync(path) ? parseExit(readFileSync(path, "utf8")) : undefined;
  return { status, stdout, stderr, exit };
}

describe("the wrapper records exactly how a command ends", () => {
  const cases: readonly [text: string, status: number, exit: object][] = [
    ["exit 0", 0, { kind: "exited", exitCode: 0 }],
    ["exit 3", 3, { kind: "exited", exitCode: 3 }],
    ["exit 127", 127, { kind: "exited", exitCode: 127 }],
    ["exit 137", 137, { kind: "exited", exitCode: 137 }],
    ["kill -KILL $$", 137, { kind: "signalled", signal: "SIGKILL" }],
    ["kill -TERM $$", 143, { kind: "signalled", signal: "SIGTERM" }],
    ["kill -INT $$", 130, { kind: "signalled", signal: "SIGINT" }],
    ["kill -PIPE $$", 141, { kind: "signalled", signal: "SIGPIPE" }],
    ["echo unstarted; echo 'exit 0'; echo end; exit 5", 5, { kind: "exited", exitCode: 5 }],
  ];
  for (const [text, status, exit] of cases) {
    test(text, () => {
      expect(run(["/bin/sh", "-c", text])).toMatchObject({ status, exit });
    });
  }

  test("a program that does not exist, or cannot be run", () => {
    const not = (why: string) => ({ kind: "not-executed", why });
    expect(run(["no-such-program"]).exit).toEqual(not("not-found"));
    expect(run(["/etc/passwd"]).exit).toEqual(not("not-executable"));
    expect(run(["true"], { cwd: "/no/such" }).exit).toEqual(not("no-directory"));
  });
});

test("where the scheduler writes its own messages, output goes to other files", () => {
  const { stdout, stderr } = run(["/bin/sh", "-c", "echo out; echo err >&2"], {
    writesOutput: true,
  });
  const written = ["stdout", "stderr"].map((name) => readFileSync(join(directory, name), "utf8"));
  expect([stdout, stderr, ...written]).toEqual(["", "", "out\n", "err\n"]);
});

test("arguments and variables reach the command byte by byte", () => {
  const text = fc
    .string({ unit: "binary", maxLength: 20 })
    .map((each) => each.replaceAll("\0", ""));
  fc.assert(
    fc.property(text, text, (argument, value) => {
      rmSync(join(directory, "claim"), { force: true });
      const argv = ["/usr/bin/printf", "%s|", argument];
      const { stdout } = run([...argv], { env: { VALUE: value } });
      expect(stdout).toBe(`${Buffer.from(argument).toString()}|`);
      rmSync(join(directory, "claim"), { force: true });
      expect(run(["printenv", "VALUE"], { env: { VALUE: value } }).stdout).toBe(
        `${Buffer.from(value).toString()}\n`,
      );
    }),
    { numRuns: 10 },
  );
});

test("the command sees nothing of the wrapper", () => {
  const { stdout } = run(["env"], { env: { A: "1", IFS: "x", "b.c": "2" } });
  const names = stdout.split("\n").map((line) => line.split("=")[0] ?? "");
  const shellOwn = ["PWD", "OLDPWD", "SHLVL", "_"];
  expect(names.filter((name) => name !== "" && !shellOwn.includes(name)).toSorted()).toEqual(
    ["A", "BUSBAR_RUN", "FAKE_ID", "IFS", "PATH", "WRAPPER", "b.c"].toSorted(),
  );
});

describe("a claim", () => {
  test("lets one of two jobs run, and the same one again", () => {
    expect(run(["echo", "first"], {}, "7").stdout).toBe("first\n");
    expect(run(["echo", "second"], {}, "8")).toMatchObject({ status: 0, stdout: "" });
    expect(run(["echo", "again"], {}, "7").stdout).toBe("again\n");
    expect(readFileSync(join(directory, "claim"), "utf8")).toBe("7\n");
  });

  test("of a stopped run lets none run", () => {
    writeFileSync(join(directory, "claim"), "stopped\n");
    expect(run(["echo", "late"])).toMatchObject({ status: 0, stdout: "", exit: undefined });
  });
});

test("an incomplete exit file counts as none", () => {
  expect(parseExit("")).toBeUndefined();
  expect(parseExit("7\nexit 0\n")).toBeUndefined();
  expect(parseExit("7\nexit \nend\n")).toBeUndefined();
  expect(parseExit("7\nexit 0\nend\n")).toEqual({ kind: "exited", exitCode: 0 });
});
