import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { createFlux } from "../../../src/agent/executors/flux/flux.ts";
import { SPACK_IOR } from "../../../src/core/jobspec/testing/documents.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import { createSystemClock } from "../../../src/system/clock.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { aRequest, describeExecutorContract, endOfRun, readAll } from "./executor-contract.ts";
import type { StandIn } from "./flux-bed.ts";
import { makeStandIn } from "./flux-bed.ts";

const shell = (text: string, ...argv: string[]) =>
  ({ kind: "command", argv: ["/bin/sh", "-c", text, "sh", ...argv] }) as const;

const open = async (
  standIn: StandIn,
  { tools = "", ...over }: { readonly tools?: string; readonly timeoutMs?: number } = {},
): Promise<Executor> => {
  const path = `${tools}:${standIn.env["PATH"] ?? ""}`;
  const { executor } = await createFlux({
    directory: join(standIn.directory, "agent"),
    cluster: "blue",
    clock: createSystemClock(),
    logger: silentLogger,
    env: { ...standIn.env, PATH: path },
    ...over,
  });
  return executor;
};

/** Processes whose command line or environment names the directory, except the stand-in's own. */
const runsIn = (directory: string): string[] =>
  readdirSync("/proc").flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
      return line.includes(directory) && !line.includes("fake-flux") ? [line] : [];
    } catch {
      return [];
    }
  });

describeExecutorContract(
  "the Flux executor",
  {
    exiting: (exitCode) => shell(`exit ${exitCode}`),
    printing: (stdout, stderr) => shell('printf %s "$1"; printf %s "$2" >&2', stdout, stderr),
    endless: () => ({ kind: "command", argv: ["sleep", "1000"] }),
    counting: (line) => shell('echo "$1"; exec sleep 1000', line),
  },
  () => {
    const standIn = makeStandIn();
    return {
      open: () => open(standIn),
      abandon: (executor) => executor.close(),
      dispose: async () => standIn.dispose(),
    };
  },
);

test("a submission without an answer is found again, and not repeated", async () => {
  const standIn = makeStandIn();
  const executor = await open(standIn, { timeoutMs: 1_500 });
  try {
    standIn.break("hold"); // no file on disk describes queued jobs
    standIn.break("mute");
    const indexes = [3, 4];
    for (const index of indexes) {
      const work = shell(`echo ran >>${standIn.directory}/ran$BUSBAR_ARRAY_INDEX`);
      const env = { BUSBAR_ARRAY_INDEX: String(index) };
      executor.start(
        aRequest(work, { id: { jobId: 1, index, attempt: 1 }, arrayIndex: index, env }),
      );
    }
    await eventually(() => standIn.looks().some((words) => words.includes("-a")), {
      what: "markers to be looked for",
    });
    standIn.mend();
    for (const index of indexes) {
      const { end } = await endOfRun(executor, { jobId: 1, index, attempt: 1 });
      expect(end).toEqual({ kind: "exited", exitCode: 0 });
      expect(readFileSync(join(standIn.directory, `ran${index}`), "utf8")).toBe("ran\n");
    }
    expect(standIn.calls().map(([command]) => command)).toEqual(["submit"]);
  } finally {
    await executor.close();
    standIn.dispose();
  }
});

describe("a Flux that has lost its jobs, whose processes continue", () => {
  const ID = { jobId: 1, index: 0, attempt: 1 };
  let standIn: StandIn;
  let executor: Executor;
  const at = (name: string): string => join(standIn.directory, name);
  beforeEach(async () => {
    standIn = makeStandIn();
    executor = await open(standIn);
  });
  afterEach(async () => {
    await executor.close();
    standIn.dispose();
  });
  const startAndCrash = async (text: string): Promise<void> => {
    executor.start(aRequest(shell(text, standIn.directory), { id: ID, killGraceMs: 1_000 }));
    await eventually(() => existsSync(at("began")), { what: "it to begin" });
    await eventually(() => executor.known().length === 1, { what: "it to be told" });
    standIn.crash();
  };
  const runs = (): string[] => runsIn(standIn.directory);

  test("the end of such a run is awaited, and reported correctly", async () => {
    await startAndCrash('touch "$1/began"; while ! [ -e "$1/go" ]; do sleep 0.1; done; exit 5');
    const looks = standIn.looks().length;
    await eventually(() => standIn.looks().length > looks + 3, { what: "it to be missed" });
    writeFileSync(at("go"), "");
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 5 });
  });

  test("also by an agent that was restarted meanwhile", async () => {
    await startAndCrash('touch "$1/began"; while ! [ -e "$1/go" ]; do sleep 0.1; done; exit 5');
    await executor.close();
    executor = await open(standIn);
    const looks = standIn.looks().length;
    await eventually(() => standIn.looks().length > looks + 3, { what: "it to be missed" });
    expect(executor.known()).toMatchObject([{ report: { kind: "running" } }]);
    writeFileSync(at("go"), "");
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "exited", exitCode: 5 });
  });

  test("a stop ends its processes before it is reported", async () => {
    await startAndCrash('trap "" TERM; touch "$1/began"; while :; do sleep 0.1; done');
    executor.stop(ID);
    expect((await endOfRun(executor, ID)).end).toEqual({ kind: "stopped", signal: "SIGKILL" });
    // The wrapper records the end and exits a moment later.
    expect(runs().filter((line) => !line.trimEnd().endsWith("/wrapper"))).toEqual([]);
    await eventually(() => runs().length === 0, { what: "the wrapper to be gone" });
  });
});

test("a stopped instance of Flux leaves no process that ignores TERM", async () => {
  const standIn = makeStandIn();
  const executor = await open(standIn);
  try {
    const id = { jobId: 1, index: 0, attempt: 1 };
    const text = `trap "" TERM HUP; touch "$1/began"; while :; do sleep 0.1; done`;
    const work = shell(text, standIn.directory);
    executor.start(aRequest(work, { id, needs: { nodes: 2 }, killGraceMs: 1_000 }));
    await eventually(() => existsSync(join(standIn.directory, "began")), { what: "it to begin" });
    executor.stop(id);
    expect((await endOfRun(executor, id)).end.kind).toBe("stopped");
    expect(runsIn(standIn.directory)).toEqual([]);
  } finally {
    await executor.close();
    standIn.dispose();
  }
});

describe("jobspecs on Flux", () => {
  const ID = { jobId: 1, index: 0, attempt: 1 };
  let standIn: StandIn;
  let executor: Executor;
  let tools = "";
  beforeEach(async () => {
    standIn = makeStandIn();
    tools = join(standIn.directory, "tools");
    mkdirSync(tools);
    executor = await open(standIn, { tools });
  });
  afterEach(async () => {
    await executor.close();
    standIn.dispose();
  });
  const run = async (text: string, env: Readonly<Record<string, string>> = {}) => {
    executor.start(aRequest({ kind: "jobspec", text }, { id: ID, env: { TOOLS: tools, ...env } }));
    const { end } = await endOfRun(executor, ID);
    return { end, stdout: (await readAll(executor, ID, "stdout")).text };
  };
  const tool = (name: string, text: string): void => {
    writeFileSync(join(tools, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(tools, name), 0o755);
  };

  test("a built file is used when it exists", async () => {
    tool("spack", '[ "$1" = load ] || touch $TOOLS/built; echo "spack $1"');
    tool("ior", "[ -e $TOOLS/built ] && echo measured");
    expect(await run(SPACK_IOR)).toEqual({
      end: { kind: "exited", exitCode: 0 },
      stdout: "== build\nspack install\n== ior\nspack load\nmeasured\n",
    });
    const flags = standIn
      .calls()
      .map((words) => words.filter((word) => /^--(dep|cores)/.test(word)));
    expect(flags[0]).toEqual(["--cores-per-task=10"]);
    expect(flags[1]).toEqual([
      "--cores-per-task=10",
      expect.stringMatching(/^--dependency=afterok:f/),
    ]);
  });

  test("tasks after a failure never begin", async () => {
    tool("spack", "exit 6");
    tool("ior", "touch $TOOLS/ran");
    expect((await run(SPACK_IOR)).end).toEqual({ kind: "exited", exitCode: 6 });
    expect(existsSync(join(tools, "ran"))).toBe(false);
  });

  test("a group is one instance, whose tasks wait for each other in it", async () => {
    const { end, stdout } = await run(`version: 1
resources: {r: {type: node, count: 2, with: [{type: core, count: 2}]}, one: {type: core, count: 1}}
tasks: [{name: last, local: true, depends_on: [g], command: [echo, done]}]
groups:
- name: g
  resources: r
  attributes: {environment: {WHO: "it's $me {x}"}}
  tasks:
  - {name: b, resources: one, replicas: 2, depends_on: [a], command: [sh, -c, 'cat $TOOLS/a; echo "{$BUSBAR_ARRAY_INDEX}"']}
  - {name: a, resources: one, command: [sh, -c, 'echo "$WHO" >$TOOLS/a']}`);
    expect(end).toEqual({ kind: "exited", exitCode: 0 });
    expect(stdout).toBe(
      "== g\n== g/a\n== g/b\nit's $me {x}\n{0}\nit's $me {x}\n{1}\n== last\ndone\n",
    );
    expect(standIn.calls().filter(([command]) => command === "batch")).toEqual([
      expect.arrayContaining(["--nodes=2", "--nslots=2", "--cores-per-slot=2"]),
    ]);
  });

  test("a group ends like the first of its tasks that failed, and the others in it continue", async () => {
    const { end, stdout } = await run(`version: 1
resources: {one: {type: core, count: 1}}
groups:
- name: g
  resources: one
  tasks:
  - {name: a, command: [sh, -c, exit 5]}
  - {name: b, depends_on: [a], command: [sh, -c, 'touch $TOOLS/b']}
  - {name: c, command: [echo, c]}`);
    expect(end).toEqual({ kind: "exited", exitCode: 5 });
    expect(stdout).toContain("== g/c\nc\n");
    expect(existsSync(join(tools, "b"))).toBe(false);
    expect(standIn.calls().filter(([command]) => command === "batch")).toHaveLength(1);
  });

  test("a group whose task has failed before its dependents are submitted runs the others", async () => {
    writeFileSync(join(standIn.directory, "fast"), "");
    const { end, stdout } = await run(`version: 1
resources: {one: {type: core, count: 1}}
groups:
- name: g
  resources: one
  tasks:
  - {name: a, command: [sh, -c, exit 7]}
  - {name: b, depends_on: [a], command: [sh, -c, 'touch $TOOLS/b']}
  - {name: c, depends_on: [b], command: [sh, -c, 'touch $TOOLS/c']}
  - {name: d, command: [echo, d]}`);
    expect(end).toEqual({ kind: "exited", exitCode: 7 });
    expect(stdout).toContain("== g/d\nd\n");
    expect(["b", "c"].filter((name) => existsSync(join(tools, name)))).toEqual([]);
  });

  test("a step whose dependency failed before its submission is skipped", async () => {
    writeFileSync(join(standIn.directory, "fast"), "");
    tool("spack", "exit 6");
    tool("ior", "touch $TOOLS/ran");
    expect((await run(SPACK_IOR)).end).toEqual({ kind: "exited", exitCode: 6 });
    expect(existsSync(join(tools, "ran"))).toBe(false);
  });

  test("copies are an array; processes are started in an instance", async () => {
    const { end } = await run(`version: 1
resources: {one: {type: core, count: 1}, two: {type: core, replicas: 2}}
tasks:
- {name: a, resources: one, replicas: 3, command: [sh, -c, 'touch $TOOLS/a$BUSBAR_ARRAY_INDEX']}
- {name: b, resources: two, replicas: 2, depends_on: [a], command: [sh, -c, 'echo x >>$TOOLS/b$BUSBAR_ARRAY_INDEX']}`);
    expect(end).toEqual({ kind: "exited", exitCode: 0 });
    expect(["a0", "a1", "a2"].every((name) => existsSync(join(tools, name)))).toBe(true);
    expect(["b0", "b1"].map((name) => readFileSync(join(tools, name), "utf8"))).toEqual([
      "x\nx\n",
      "x\nx\n",
    ]);
  });
});
