import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Executor, RunEnd, RunRequest } from "../../../src/ports/executor.ts";
import { PROGRESS_FILE_VARIABLE } from "../../../src/agent/runs/progress/progress-files.ts";
import { RUN_VARIABLE } from "../../../src/agent/runs/run-variable.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import {
  aRequest,
  endOfRun,
  type ExecutorBed,
  readAll,
  type SampleWork,
} from "./executor-contract.ts";

export const shell = (text: string, ...argv: string[]) =>
  ({ kind: "command", argv: ["/bin/sh", "-c", text, "sh", ...argv] }) as const;

/** For the contract of executors whose work becomes processes. */
export const sampleProcesses: SampleWork = {
  exiting: (exitCode) => shell(`exit ${exitCode}`),
  printing: (stdout, stderr) => shell('printf %s "$1"; printf %s "$2" >&2', stdout, stderr),
  endless: () => ({ kind: "command", argv: ["sleep", "1000"] }),
  counting: (line) => shell('echo "$1"; exec sleep 1000', line),
  frozen: () =>
    shell(`trap 'echo bye; exit 0' TERM
(until grep -q '^State:.T' /proc/$$/status; do sleep 0.05; done; echo frozen) &
kill -STOP $$
wait`),
};

/** How commands run, with any starter: their input, and the reports of their ends. */
export function describeProcesses<Bed extends ExecutorBed & { readonly directory: string }>({
  makeBed,
  open,
  path = process.env["PATH"],
  words,
}: {
  readonly makeBed: () => Bed;
  /** With this environment of the agent. */
  readonly open: (bed: Bed, env: Readonly<Record<string, string | undefined>>) => Promise<Executor>;
  /** The PATH that its programs are found by; default: that of the tests. */
  readonly path?: string | undefined;
  /** The message for an impossible working directory, and other differences. */
  readonly words: {
    missing(path: string): string;
    noDirectory(path: string): string;
    /** Whether a missing program of a #! line is reported; bash does not report it. */
    readonly knowsInterpreters: boolean;
    /** Whether programs print versions, which builtins of the same name do not. */
    readonly hasCoreutils: boolean;
  };
}): void {
  let bed: Bed;
  let executor: Executor;
  let count = 0;

  beforeEach(async () => {
    bed = makeBed();
    const { npm_execpath: _, ...env } = process.env; // with it npm's entries are removed from the PATH
    executor = await open(bed, { ...env, BUSBAR_KEY: "secret", INHERITED: "yes" });
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });

  async function run(work: RunRequest["work"], over: Partial<RunRequest> = {}) {
    count += 1;
    const id = { jobId: count, index: 0, attempt: 1 };
    executor.start(aRequest(work, { id, ...over }));
    const { end, startedAtMs } = await endOfRun(executor, id);
    const stdout = await readAll(executor, id, "stdout");
    const stderr = await readAll(executor, id, "stderr");
    return { id, end, startedAtMs, stdout: stdout.text, stderr: stderr.text };
  }

  describe("exit codes and signals are distinguished", () => {
    const exit = (exitCode: number): RunEnd => ({ kind: "exited", exitCode });
    const signal = (name: string): RunEnd => ({ kind: "signalled", signal: name });
    const cases: readonly [text: string, end: RunEnd][] = [
      ["exit 0", exit(0)],
      ["exit 1", exit(1)],
      ["exit 126", exit(126)],
      ["exit 127", exit(127)],
      ["exit 130", exit(130)],
      ["exit 137", exit(137)],
      ["exit 139", exit(139)],
      ["exit 143", exit(143)],
      ["exit 255", exit(255)],
      ["kill -TERM $$", signal("SIGTERM")],
      ["kill -KILL $$", signal("SIGKILL")],
      ["ulimit -c 0; kill -SEGV $$", signal("SIGSEGV")],
      ["ulimit -c unlimited; kill -SEGV $$", signal("SIGSEGV")],
      ["ulimit -c unlimited; kill -ABRT $$", signal("SIGABRT")],
      ["kill -HUP $$", signal("SIGHUP")],
      ["kill -USR1 $$", signal("SIGUSR1")],
      ["kill -34 $$", signal("SIG34")],
      ["echo 'exit 0'; echo end; exit 5", exit(5)],
    ];
    for (const [text, end] of cases) {
      test(text, async () => {
        expect((await run(shell(text))).end).toEqual(end);
      });
    }
  });

  describe("failed starts have a reason", () => {
    const command = (...argv: string[]) => ({ kind: "command", argv }) as const;
    const refused = async (work: RunRequest["work"], over: Partial<RunRequest> = {}) => {
      const { end, startedAtMs } = await run(work, over);
      expect(startedAtMs).toBeUndefined();
      return end.kind === "could-not-start" ? end.message : end;
    };

    test("a program that does not exist", async () => {
      expect(await refused(command("no-such-program"))).toMatch(
        /^program not found: no-such-program($|; looked in PATH=.*bin)/,
      );
      expect(await refused(command("/no/such/program"))).toBe(
        "program not found: /no/such/program",
      );
      expect(await refused(command(""))).toMatch(/^program (not found|cannot be executed): $/);
    });
    test("a program that is not executable", async () => {
      expect(await refused(command("/etc/passwd"))).toBe("program cannot be executed: /etc/passwd");
      expect(await refused(command("/"))).toBe("program cannot be executed: /");
    });
    test("an empty command", async () => {
      expect(await refused(command())).toBe("there is no program to run");
    });
    test("a working directory that is missing, a file, or relative", async () => {
      const missing = join(bed.directory, "missing");
      expect(await refused(shell("true"), { cwd: missing })).toBe(words.missing(missing));
      expect(await refused(shell("true"), { cwd: "/etc/passwd" })).toBe(
        words.noDirectory("/etc/passwd"),
      );
      expect(await refused(shell("true"), { cwd: "tmp" })).toBe(
        "the working directory must be absolute: tmp",
      );
    });
    test("arguments too long for the kernel", async () => {
      expect(await refused(command("/bin/true", "x".repeat(200_000)))).toMatch(/too long/);
      const many = Array.from({ length: 100 }, () => "x".repeat(100_000));
      expect(await refused(command("/bin/true", ...many))).toMatch(/too long/);
    });
    test("a NUL byte", async () => {
      expect(await refused(command("/bin/true", "a\0b"))).toMatch(/NUL/);
      expect(await refused(command("/bin/true"), { env: { A: "a\0b" } })).toMatch(/NUL/);
    });
    test.skipIf(!words.knowsInterpreters)("a script whose interpreter is missing", async () => {
      const text = "#!/no/such/interpreter\n";
      expect(await refused({ kind: "script", text })).toBe(
        "program not found: the interpreter of the script, /no/such/interpreter",
      );
    });
  });

  describe("everything arrives unchanged", () => {
    const nasty = [
      "",
      " ",
      "a b",
      "a\nb\n",
      "'\"`$(touch /tmp/busbar-pwned)${HOME}\\",
      "; exit 9",
      "*",
      "-e",
      "--",
      "ünï→\t\u0001",
      "x".repeat(128 * 1024 - 1), // the longest that Linux accepts, with its NUL
    ];

    test("arguments", async () => {
      const { stdout, end } = await run({
        kind: "command",
        argv: ["/usr/bin/printf", "%s\\0", ...nasty],
      });
      expect(end).toEqual({ kind: "exited", exitCode: 0 });
      expect(stdout.split("\0").slice(0, -1)).toEqual(nasty);
    });

    test("the environment, in addition to the variables that every task gets", async () => {
      const names = ["state", "A", "IFS", "OPTIND", "PPID", "with-dash", "with.dot", "PS4", "code"];
      names.push("UID", "EUID", "RANDOM", "SECONDS", "LINENO", "GROUPS", "OLDPWD", "LC_ALL");
      const values = Object.fromEntries(
        nasty.map((value, index) => [`NASTY_${index}`, value.slice(0, 100_000)]),
      );
      const own = Object.fromEntries(names.map((name) => [name, `value of ${name}`]));
      const env = { ...values, ...own, BUSBAR_JOB_ID: "17", INHERITED: "no" };
      const { stdout, stderr } = await run({ kind: "command", argv: ["env", "-0"] }, { env });
      expect(stderr).toBe("");
      const arrived = Object.fromEntries(
        stdout
          .split("\0")
          .map((line) => [line.split("=", 1)[0], line.slice(line.indexOf("=") + 1)]),
      );
      expect(arrived).toMatchObject({ ...env, PATH: path });
      const ours = Object.keys(arrived).filter((name) => name.startsWith("BUSBAR_"));
      const ofTheAgent = [RUN_VARIABLE, PROGRESS_FILE_VARIABLE];
      expect(ours.filter((name) => !ofTheAgent.includes(name))).toEqual(["BUSBAR_JOB_ID"]);
    });

    test("the program runs, never a builtin of the same name", async () => {
      const { stdout } = await run({ kind: "command", argv: ["echo", "--version"] });
      if (words.hasCoreutils) expect(stdout).toMatch(/coreutils/);
      expect((await run({ kind: "command", argv: ["exit", "3"] })).end.kind).toBe(
        "could-not-start",
      );
    });

    test("the working directory, and PWD with it", async () => {
      const cwd = join(realpathSync(bed.directory), "a 'quoted' $(dir)\n");
      mkdirSync(cwd);
      const { stdout } = await run(
        { kind: "command", argv: ["sh", "-c", 'echo "$PWD"; /bin/pwd'] },
        {
          cwd,
        },
      );
      expect(stdout).toBe(`${cwd}\n${cwd}\n`);
    });

    test("without one, an empty directory of the run's own that is removed with the run", async () => {
      const { id, stdout } = await run(shell("pwd; ls -A; echo x >left; mkdir -p a/b"));
      const work = stdout.trimEnd();
      expect(work).toMatch(/\/work[^/]*$/);
      expect(existsSync(join(work, "left"))).toBe(true);
      executor.forget(id);
      await eventually(() => !existsSync(work), { what: "the directory to be removed" });
    });

    test("scripts run by their #! line, or by sh", async () => {
      const perl = await run({ kind: "script", text: "#!/usr/bin/env -S cat\nline 2\n" });
      expect(perl.stdout).toBe("#!/usr/bin/env -S cat\nline 2\n");
      const plain = await run({ kind: "script", text: 'echo "$0 $#" | tail -c 9; exit 6' });
      expect(plain).toMatchObject({ stdout: "script 0\n", end: { kind: "exited", exitCode: 6 } });
    });

    test("a program without a #! line runs by sh, as from a shell", async () => {
      const path = join(bed.directory, "plain");
      writeFileSync(path, "echo plain\n");
      chmodSync(path, 0o755);
      expect((await run({ kind: "command", argv: [path] })).stdout).toBe("plain\n");
    });

    test("nothing else: three descriptors, an empty stdin, no signal ignored or blocked", async () => {
      const { stdout } = await run(
        shell("cat; ls /proc/self/fd | grep -c ^.$; grep -E 'Sig(Ign|Blk)' /proc/self/status"),
      );
      expect(stdout).toBe(
        "4\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n", // 3 belongs to ls itself; higher ones may belong to the process that started the tests
      );
    });
  });
}
