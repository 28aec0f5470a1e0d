import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../testing/eventually.ts";
import { startFakeServer } from "./testing/fake-server.ts";

const BUSBAR = fileURLToPath(new URL("../../busbar", import.meta.url));

let server: Awaited<ReturnType<typeof startFakeServer>>;
const directory = mkdtempSync(join(tmpdir(), "busbar-cli-"));
beforeAll(async () => {
  server = await startFakeServer();
});
afterEach(() => {
  server.cancelled.length = 0;
});
afterAll(async () => {
  await server.close();
  rmSync(directory, { recursive: true });
});

function start(args: readonly string[], env: Record<string, string> = {}, program = BUSBAR) {
  const child = spawn(program, args, {
    env: { ...process.env, BUSBAR_SERVER: server.address, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  const ended = new Promise<number | string | null>((resolve) => {
    child.once("close", (code, signal) => resolve(signal ?? code));
  });
  const said = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(output.stderr + output.stdout)) {
      await new Promise((resolve) => {
        child.stderr.once("data", resolve);
        child.stdout.once("data", resolve);
      });
    }
  };
  return { child, output, ended, said };
}

async function busbar(args: readonly string[], input = "") {
  const { child, output, ended } = start(args);
  child.stdin.end(input);
  return { code: await ended, ...output };
}

describe("run", () => {
  test("copies stdout to stdout, stderr to stderr, and succeeds", async () => {
    expect(await busbar(["run", "--", "print", "hello"])).toEqual({
      code: 0,
      stdout: "out: hello\n",
      stderr: "err: hello\n",
    });
  });

  test("exits as the job did", async () => {
    expect(await busbar(["run", "fail", "3"])).toEqual({ code: 3, stdout: "", stderr: "" });
  });

  test("prefixes the lines of an array with the index", async () => {
    const { stdout } = await busbar(["run", "--array", "0-1", "print", "x"]);
    expect(stdout.trimEnd().split("\n").sort()).toEqual(["[0] out: x", "[1] out: x"]);
  });

  test("is one JSON value that includes the output", async () => {
    const { code, stdout, stderr } = await busbar(["run", "-o", "json", "print", "x"]);
    expect([code, stderr]).toEqual([0, ""]);
    const value = JSON.parse(stdout) as { job: { state: string } };
    expect(value).toMatchObject({ stdout: "out: x\n", stderr: "err: x\n" });
    expect(value.job.state).toBe("succeeded");
  });

  test("prints why a job is pending, cancels it on Ctrl-C and waits for its end", async () => {
    const { child, ended, said, output } = start(["run", "stay"]);
    await said(
      /is waiting: no node is connected\nbusbar: {3}cheapest change: wait for task 9\nbusbar: {3}start an agent/,
    );
    child.kill("SIGINT");
    expect(await ended).toBe("SIGINT"); // a shell sees 130, and ends its loop
    expect(server.cancelled).toHaveLength(1);
    expect(output.stderr).toMatch(/cancelling job .*\n.* cancelled/);
  });

  test("run reports once that output cannot be written, and fails", async () => {
    const line = `exec "$0" run --array 0-1 print x > /dev/full`;
    const { output, ended } = start(["-c", line, BUSBAR], {}, "/bin/sh");
    expect(await ended).toBe(1);
    expect(output.stderr.match(/cannot write.*/g)).toEqual([
      expect.stringMatching(
        /^cannot write the stdout of (\d+)\.\d: .*ENOSPC.*; job \1 continues, and/,
      ),
    ]);
    expect(server.cancelled).toEqual([]);
  });

  test("cancels the job when the reader of its output has closed it", async () => {
    const { child, ended } = start(["run", "flood"]);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toBe(0);
    expect(server.cancelled).toHaveLength(1);
  });
});

describe("submit", () => {
  test("prints ids for people and for scripts", async () => {
    const { stdout } = await busbar(["submit", "print", "--output", "json"]);
    expect(stdout).toMatch(/^job \d+\n$/); // --output belongs to the program here
    expect((await busbar(["submit", "-q", "print"])).stdout).toMatch(/^\d+\n$/);
  });

  test("passes a warning on to stderr", async () => {
    const { stderr } = await busbar(["submit", "--gpu", "1", "print"]);
    expect(stderr).toMatch(/^busbar: warning: job \d+: no node has a gpu\n$/);
  });

  test("--wait succeeds only when all jobs did", async () => {
    const jobs = "- command: [print, a]\n- command: [fail, 2]\n";
    const file = join(directory, "jobs.yaml");
    writeFileSync(file, jobs);
    const { code, stdout } = await busbar(["submit", "--wait", "-o", "json", "--file", file]);
    const value = JSON.parse(stdout) as { jobs: { state: string }[] };
    expect([code, value.jobs.map((job) => job.state)]).toEqual([1, ["succeeded", "failed"]]);
    const one = await busbar(["submit", "--wait", "--file", "-"], "command: [print]");
    expect([one.code, one.stderr]).toEqual([0, ""]);
  });

  test("Ctrl-C ends a wait, says that the job continues, and how to end it", async () => {
    const before = server.lists.watches;
    const { child, ended, output } = start(["submit", "--wait", "stay"]);
    await eventually(() => server.lists.watches > before, { what: "it to wait" });
    child.kill("SIGINT");
    expect(await ended).toBe("SIGINT");
    expect(output.stderr).toMatch(/stopped waiting: job (\d+) continues; busbar cancel \1 ends it/);
    expect(server.cancelled).toEqual([]);
  });

  test("the error about a wrong file names file, line and column, and exits 2", async () => {
    const file = join(directory, "wrong.yaml");
    writeFileSync(file, "command: [x]\ntimelimit: 5m\n");
    const { code, stderr } = await busbar(["submit", "--file", file]);
    expect([code, stderr]).toEqual([
      2,
      'busbar: wrong.yaml:2:1: unknown key "timelimit"; did you mean "timeLimit"?\n',
    ]);
  });
});

describe("reading", () => {
  test("jobs follows pages up to the limit and prints that there are more", async () => {
    const { stdout, stderr } = await busbar(["jobs"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(51);
    expect(stderr).toMatch(/newest 50; see more with --limit or --all/);
    const all = JSON.parse((await busbar(["jobs", "--all", "-o", "json"])).stdout) as {
      jobs: { id: string }[];
    };
    expect(all.jobs.length).toBeGreaterThanOrEqual(120);
    expect(all.jobs.at(-1)?.id).toBe("1");
  });

  test("a missing job is exit 1, as text or as JSON", async () => {
    expect(await busbar(["job", "999"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "busbar: there is no job 999\n",
    });
    expect(await busbar(["job", "999", "-o", "json"])).toEqual({
      code: 1,
      stdout: '{"error":{"code":"not_found","message":"there is no job 999","field":"id"}}\n',
      stderr: "",
    });
  });

  test("one rejection does not prevent the other cancellations", async () => {
    const { code, stdout, stderr } = await busbar(["cancel", "1", "999", "2"]);
    expect([code, stderr]).toEqual([1, "busbar: there is no job 999\n"]);
    expect(stdout.split("\n")).toHaveLength(3);
    expect(server.cancelled).toEqual(["1", "2"]);
  });

  test("a reader that closes early, like head, is no error", async () => {
    const { child, output, ended } = start(["logs", "--follow", await floodingJob()]);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toBe(0);
    expect(output.stderr).toBe("");
  });

  test("watch ends with its job and prints one JSON value per line", async () => {
    const id = (await busbar(["submit", "-q", "stay"])).stdout.trim();
    const { ended, output, said } = start(["watch", id, "-o", "json"]);
    await said(/sync/);
    await busbar(["cancel", id]);
    expect(await ended).toBe(0);
    const kinds = output.stdout.trimEnd().split("\n");
    expect(kinds.map((line) => Object.keys(JSON.parse(line) as object)[1])).toEqual([
      "sync",
      "job",
    ]);
  });
});

async function floodingJob(): Promise<string> {
  return (await busbar(["submit", "-q", "flood"])).stdout.trim();
}

test("an unreachable server is exit 1 with advice", async () => {
  const { ended, output } = start(["jobs"], { BUSBAR_SERVER: "127.0.0.1:1" });
  expect(await ended).toBe(1);
  expect(output.stderr).toMatch(/is busbar running at 127.0.0.1:1\? start it with `busbar up`/);
});

test("help does not load the wire's code or YAML", async () => {
  const hook =
    "import{registerHooks}from'node:module';registerHooks({load(u,c,n){process._rawDebug(u);return n(u,c)}})";
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hook)}`;
  for (const args of [["--help"], ["submit", "--help"], ["version"]]) {
    const { ended, output } = start(args, { NODE_OPTIONS });
    expect(await ended).toBe(0);
    const hasCommander = /commander|\/dist\/cli\.js/.test(output.stderr);
    expect(hasCommander).toBe(args[0] !== "version"); // It needs nothing.
    expect(output.stderr).not.toMatch(/grpc-js|@bufbuild|_pb\.js|\/yaml\/|yaml-tree|pino/);
  }
});

test("in a directory that was removed, commands that need it say so, and others work", async () => {
  const runIn = async (words: string) => {
    const gone = mkdtempSync(join(directory, "gone-"));
    const script = `cd ${gone} && rmdir ${gone} && exec ${BUSBAR} ${words}`;
    const child = spawn("/bin/sh", ["-c", script], {
      env: { ...process.env, BUSBAR_SERVER: server.address },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    const code = await new Promise((resolve) => child.once("close", resolve));
    return { code, output };
  };
  const needIt = [
    "submit -- true",
    "submit --cwd here -- true",
    "up --http 127.0.0.1:0 --grpc 127.0.0.1:0",
    "backup copy",
  ];
  for (const words of needIt) {
    const refused = await runIn(words);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain("busbar: the current directory does not exist any more;");
  }
  expect(await runIn("run --cwd fresh -- print x")).toMatchObject({
    code: 0,
    output: expect.stringContaining("x\n"),
  });
  expect(await runIn("submit --cwd /tmp -- print x")).toMatchObject({ code: 0 });
  expect(await runIn("version")).toMatchObject({ code: 0 });
});

test("compiled code goes to a directory of the user's own, and to no other in /tmp", async () => {
  const temporary = mkdtempSync(join(directory, "tmp-"));
  expect(await start(["jobs"], { TMPDIR: temporary }).ended).toBe(0);
  expect(readdirSync(temporary)).toEqual([`busbar-compile-cache-${process.getuid?.()}`]);
});

test("a checkout without its packages says what to do", () => {
  const checkout = mkdtempSync(join(directory, "checkout-"));
  cpSync(BUSBAR, join(checkout, "busbar"));
  mkdirSync(join(checkout, "src"));
  const PATH = `${dirname(process.execPath)}:${process.env["PATH"]}`;
  const ran = spawnSync(join(checkout, "busbar"), ["up"], { env: { PATH }, encoding: "utf8" });
  expect(ran).toMatchObject({
    status: 1,
    stdout: "",
    stderr: `busbar: this checkout lacks the packages it is built with: npm install (without --omit=dev), in ${checkout}\n`,
  });
});
