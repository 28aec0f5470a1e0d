import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Jobspec } from "../../src/core/jobspec/model.ts";
import { checkJobspec, parseJobspec } from "../../src/core/jobspec/read/parse.ts";
import { document } from "../../src/core/jobspec/testing/arbitrary.ts";
import { SPACK_IOR } from "../../src/core/jobspec/testing/documents.ts";
import { toDriverScript } from "../../src/core/jobspec/write/to-driver-script.ts";
import { toFluxSteps } from "../../src/core/jobspec/write/to-flux-steps.ts";
import { AppError } from "../../src/lib/errors.ts";
import { limits } from "../../src/limits.ts";
import { eventually } from "../../src/testing/eventually.ts";

/** Real shells run the script. */

let directory = "";
let children: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "busbar-driver-"));
});
afterEach(() => {
  for (const { pid, exitCode, signalCode } of children) {
    if (pid !== undefined && exitCode === null && signalCode === null)
      process.kill(-pid, "SIGKILL");
  }
  children = [];
  rmSync(directory, { recursive: true, force: true });
});

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Begins the jobspec in its own session, like the process executor. */
function begin(jobspec: string, shell: string, env: Readonly<Record<string, string>> = {}) {
  const path = join(directory, "script");
  writeFileSync(path, toDriverScript(parseJobspec(jobspec)));
  const child = spawn(shell, [path], {
    cwd: directory,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: `${directory}:${process.env["PATH"] ?? ""}`, HERE: directory, ...env },
  });
  children.push(child);
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  const ended = new Promise<Outcome>((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
  return { pid: child.pid ?? 0, ended };
}

function tool(name: string, content: string): void {
  writeFileSync(join(directory, name), `#!/bin/sh\n${content}`);
  chmodSync(join(directory, name), 0o755);
}

const sh = (script: string): string => JSON.stringify(["sh", "-c", script]);
const HEAD = `version: 1
resources: {r: {type: core, count: 1}, two: {type: core, replicas: 2}}
`;

describe.each(["/bin/dash", "/bin/bash"])("by %s", (shell) => {
  const run = (jobspec: string, env?: Readonly<Record<string, string>>) =>
    begin(jobspec, shell, env).ended;

  test("a task runs after its dependencies, each under its name", async () => {
    const outcome = await run(`${HEAD}tasks:
- {name: c, local: true, depends_on: [b], command: ${sh("cat $HERE/file; echo end")}}
- {name: b, resources: r, depends_on: [a], command: ${sh("echo b >>$HERE/file; printf open; echo bad >&2")}}
- {name: a, resources: r, command: ${sh("echo a >>$HERE/file")}}`);
    expect(outcome).toEqual({
      code: 0,
      stdout: "== a\n== b\nopen\n== c\na\nb\nend\n",
      stderr: "bad\n",
    });
    expect(readdirSync(directory).sort()).toEqual(["file", "script"]);
  });

  test("a single process writes directly, without a name prefix", async () => {
    const one = `${HEAD}tasks: [{resources: r, command: ${sh("echo out; echo err >&2; exit 7")}}]`;
    expect(await run(one)).toEqual({ code: 7, stdout: "out\n", stderr: "err\n" });
    expect(readdirSync(directory)).toEqual(["script"]);
  });

  test("independent tasks run in parallel", async () => {
    // Each waits for the other.
    const { code, stdout } = await run(`${HEAD}tasks:
- {name: make, local: true, command: ${sh("mkfifo $HERE/f $HERE/g")}}
- {name: x, resources: r, depends_on: [make], command: ${sh("echo from x >$HERE/f; cat $HERE/g")}}
- {name: y, resources: r, depends_on: [make], command: ${sh("cat $HERE/f; echo from y >$HERE/g")}}`);
    expect(code).toBe(0);
    expect(stdout).toContain("== x\nfrom y\n");
    expect(stdout).toContain("== y\nfrom x\n");
  });

  test("all processes of a task and of its copies know their indexes", async () => {
    const { code, stdout } = await run(
      `${HEAD}tasks: [{name: t, resources: two, replicas: 2, command: ${sh('echo "i=$BUSBAR_ARRAY_INDEX"')}}]`,
    );
    expect(code).toBe(0);
    expect(stdout.match(/== .*\n.*/g)?.sort()).toEqual(
      [0, 1, 2, 3].map((index) => `== t[${index}]\ni=${index}`),
    );
  });

  test("more than the limit take turns", async () => {
    const count = limits.jobspecProcessesAtOnceMax * 2 + 3;
    const { code, stdout } = await run(
      `${HEAD}tasks: [{name: t, resources: r, replicas: ${count}, command: ${sh("mkdir $HERE/d$BUSBAR_ARRAY_INDEX; [ $(ls $HERE/tasks.*/*.out | wc -l) -le 16 ] || echo many")}}]`,
    );
    expect([code, stdout.includes("many")]).toEqual([0, false]);
    expect(readdirSync(directory).filter((name) => /^d\d+$/.test(name))).toHaveLength(count);
  });

  test("a failure skips its dependents, and the rest continues", async () => {
    const { code, stdout, stderr } = await run(`${HEAD}tasks:
- {name: bad, resources: r, replicas: 2, command: ${sh("exit $((BUSBAR_ARRAY_INDEX * 3))")}}
- {name: next, resources: r, depends_on: [bad], command: [echo, no]}
- {group: g, depends_on: [next]}
- {name: good, local: true, command: [echo, fine]}
- {name: late, local: true, depends_on: [good, bad], command: [echo, no]}
- {name: after, local: true, depends_on: [good], command: [sh, -c, exit 5]}
groups: [{name: g, resources: r, tasks: [{name: t, command: [echo, no]}]}]`);
    expect([3, 5]).toContain(code);
    expect(stdout).toContain("== good\nfine\n");
    expect(stdout).toContain("== after\n");
    expect(stdout).not.toContain("no");
    expect(stderr.trim().split("\n").sort()).toEqual([
      "g/t is skipped: next has not succeeded",
      "late is skipped: bad has not succeeded",
      "next is skipped: bad has not succeeded",
    ]);
  });

  test("the exit code is that of the first failure", async () => {
    const { code } = await run(`${HEAD}tasks:
- {name: slow, local: true, command: ${sh("until [ -e $HERE/ran ]; do sleep 0.02; done; while ls $HERE/tasks.*/1.0.out; do sleep 0.02; done; exit 4")}}
- {name: fast, local: true, command: ${sh("touch $HERE/ran; exit 9")}}`);
    expect(code).toBe(9);
  });

  test("every word, name and variable arrives unchanged", async () => {
    const hard = ["it's", "$HOME `id` \\", "a;b|c&d", "", "*", "new\nline", '"', "~", "-n", "é 漢"];
    tool("show", 'for word in "$@"; do printf "<%s>" "$word"; done; echo');
    const { code, stdout } = await run(
      JSON.stringify({
        version: 1,
        resources: { r: { type: "core", count: 1 } },
        attributes: { environment: { HARD: hard.join("\n"), "odd-name": "x=y" } },
        tasks: [
          { name: "it's $x", resources: "r", command: ["show", ...hard] },
          {
            name: "b",
            resources: "r",
            depends_on: ["it's $x"],
            script: '#!/usr/bin/env -S bash -e\nshow "$HARD" "$(env | grep ^odd)"',
          },
        ],
      }),
    );
    expect(code).toBe(0);
    expect(stdout).toBe(
      `== it's $x\n${hard.map((word) => `<${word}>`).join("")}\n== b\n<${hard.join("\n")}><odd-name=x=y>\n`,
    );
  });

  test("the commands see nothing of the script", async () => {
    const env = { busbar_directory: "mine", busbar_code: "x", busbar_stop: "7" };
    const { code, stdout } = await run(
      `${HEAD}tasks: [{name: a, local: true, command: ${sh("ls /proc/self/fd | grep -x '[89]'; env | grep -c ^BUSBAR_ARRAY")}}, {name: b, local: true, command: [cat]}]`,
      env,
    );
    expect(stdout).toContain("== a\n0\n");
    expect(code).toBe(1); // grep found none
  });

  test("directories, time limits, scripts and steps", async () => {
    const { code, stdout } = await run(`${HEAD}tasks:
- {name: where, resources: r, attributes: {cwd: /usr}, command: [pwd]}
- {name: nowhere, resources: r, attributes: {cwd: /no/where}, command: [pwd]}
- {name: long, resources: r, attributes: {duration: 0.1}, command: [sleep, "1000"]}
- name: files
  resources: r
  depends_on: [where]
  scripts: [{name: a.sh, content: "#!/bin/sh\\necho \\"it's $(basename $PWD)\\""}, {name: b, content: "echo b"}]
  steps: [{name: write, filename: b}, {name: stage, path: b}, {name: submit, filename: a.sh}, {name: set, key: stage, value: sub dir}, {name: batch, filename: b}]
  command: [ls]`);
    expect([124, 2, 1]).toContain(code);
    expect(stdout).toContain("== where\n/usr\n");
    expect(stdout).toMatch(/== files\nit's work\.\w+\nb\nb\n/);
  });

  test("processes that share a directory write the same file, and all can run it", async () => {
    const { code, stdout } = await run(`${HEAD}tasks:
- name: t
  resources: r
  replicas: 40
  attributes: {cwd: ${directory}}
  scripts: [{name: a.sh, content: "#!/bin/sh\\necho ran"}]
  steps: [{name: write, filename: a.sh, executable: true}, {name: submit, filename: a.sh}]`);
    expect(code).toBe(0);
    expect(stdout.match(/^ran$/gm)).toHaveLength(40);
    expect(readdirSync(directory).sort()).toEqual(["a.sh", "script"]);
  });

  test("TERM to all of it ends all of it, and nothing more begins", async () => {
    const wait = `trap 'echo stopped; exit 3' TERM; echo started; touch $HERE/$0; while :; do sleep 0.05; done`;
    const { pid, ended } = begin(
      `${HEAD}tasks:
- {name: a, local: true, command: ["sh", "-c", ${JSON.stringify(wait)}, a]}
- {name: b, local: true, attributes: {duration: 1h}, command: [sh, -c, "touch $HERE/b; exec sleep 1000"]}
- {name: c, local: true, depends_on: [a], command: [touch, ${join(directory, "c")}]}`,
      shell,
    );
    await eventually(() => ["a", "b"].every((name) => existsSync(join(directory, name))), {
      what: "both to run",
    });
    for (const each of sessionOf(pid)) send(each, "SIGTERM");
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(143);
    expect(stdout).toContain("== a\nstarted\nstopped\n");
    expect(stderr).not.toContain("busbar_"); // messages of shells about killed children
    expect(existsSync(join(directory, "c"))).toBe(false);
    expect(sessionOf(pid)).toEqual([]);
    expect(readdirSync(directory).filter((name) => name.startsWith("tasks"))).toEqual([]);
  });

  test("it does not wait forever for killed tasks", async () => {
    const { pid, ended } = begin(
      `${HEAD}tasks: [{name: a, local: true, command: ${sh("touch $HERE/a; sleep 1000")}}, {name: b, local: true, command: ["true"]}]`,
      shell,
    );
    await eventually(() => existsSync(join(directory, "a")), { what: "a to run" });
    // Stopped first: none may report another's death.
    const others = sessionOf(pid).filter((each) => each !== pid);
    for (const signal of ["SIGSTOP", "SIGKILL"]) for (const each of others) send(each, signal);
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([137, expect.stringMatching(/\d processes were killed\n/)]);
  });

  test("a built file is used only when it exists", async () => {
    tool(
      "spack",
      `echo "spack $*"; [ "$1" = load ] || { [ -n "$FAIL" ] && exit 6; touch $HERE/ior-is-there; }`,
    );
    tool("ior", `[ -e $HERE/ior-is-there ] || exit 127; echo '{"ior": "'"$*"'"}'`);
    expect(await run(SPACK_IOR, { FAIL: "1" })).toEqual({
      code: 6,
      stdout: "== build\nspack install ior\n",
      stderr: "ior is skipped: build has not succeeded\n",
    });
    expect(await run(SPACK_IOR)).toEqual({
      code: 0,
      stdout:
        '== build\nspack install ior\n== ior\nspack load ior\n{"ior": "-b 10g -O summaryFormat=json"}\n',
      stderr: "",
    });
  });

  test("hundreds, in sequence and in parallel", async () => {
    const tasks = Array.from({ length: 300 }, (_, at) => ({
      name: `t${at}`,
      local: true,
      command: ["true"],
      depends_on: at % 3 === 0 || at < 3 ? [] : [`t${at - 3}`],
    }));
    const { code, stdout } = await run(JSON.stringify({ version: 1, tasks }));
    expect([code, stdout.split("\n").length]).toEqual([0, 301]);
  });
});

test("the scripts of any document are valid for a shell", () => {
  let valid = 0;
  fc.assert(
    fc.property(document, (each) => {
      const checked = checkJobspec(JSON.stringify(each));
      if (checked.kind === "invalid") return;
      for (const script of scriptsOf(checked.jobspec)) {
        const { status, stderr } = spawnSync("/bin/dash", ["-n"], { input: script });
        expect([status, stderr.toString()]).toEqual([0, ""]);
        valid += 1;
      }
    }),
    { numRuns: 100 },
  );
  expect(valid).toBeGreaterThan(20);
});

/** A rejected document has none. */
function scriptsOf(jobspec: Jobspec): readonly string[] {
  try {
    const steps = toFluxSteps(jobspec).filter(({ launch }) => launch === "once");
    return [toDriverScript(jobspec), ...steps.map(({ script }) => script)];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [];
  }
}

function send(pid: number, signal: string): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** The live processes of a session. */
function sessionOf(session: number): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const [state, , , of] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return Number(of) === session && state !== "Z" ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
