import { realpathSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isAlive } from "../../src/testing/is-alive.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
beforeEach(async () => {
  site = new Site();
  await up();
});
afterEach(() => site.close());

async function up(): Promise<void> {
  const running = site.start([
    "up",
    "--data",
    site.path("data"),
    "--http",
    "127.0.0.1:0",
    "--grpc",
    "127.0.0.1:0",
    "--name",
    "local",
  ]);
  site.server = await running.prints(/gRPC:\s+(\S+:\d+)/);
  site.http = await running.prints(/REST:\s+(http:\S+)/);
  await site.nodeIs("local", "connected");
}

describe("a new user", () => {
  test("runs a command, sees its output and gets its exit code", async () => {
    const { code, stdout, stderr } = await site.run(
      "run",
      "--",
      "sh",
      "-c",
      "echo hi; echo oh >&2; exit 3",
    );
    expect({ code, stdout }).toEqual({ code: 3, stdout: "hi\n" });
    expect(stderr).toContain("oh\n");
  });

  test("runs a script of their working directory", async () => {
    writeFileSync(site.path("step.sh"), "#!/bin/sh\npwd; echo made >made\n", { mode: 0o755 });
    const here = realpathSync(site.directory);
    expect(await site.run("run", "--", "./step.sh")).toMatchObject({ stdout: `${here}\n` });
    expect(site.lines("made")).toEqual(["made"]);
    const file = site.path("jobs.yaml");
    writeFileSync(file, "command: [./step.sh]\n");
    expect((await site.run("submit", "--wait", "--file", file)).code).toBe(0);
    expect((await site.run("job", "1")).stdout).toContain(`${here} where a node has it`);
    const fresh = await site.run("run", "--cwd", "fresh", "--", "./step.sh");
    expect(fresh.code).toBe(127);
    expect(fresh.stderr).toContain("program not found: ./step.sh; looked in a fresh directory");
  });

  test("passes arguments to a script with or without an interpreter", async () => {
    for (const first of ["#!/bin/sh\n", ""]) {
      writeFileSync(site.path("step.sh"), `${first}echo "$# $1 $2"\n`);
      const ran = await site.run("run", "--script", site.path("step.sh"), "--", "a  b", "'c");
      expect(ran).toMatchObject({ code: 0, stdout: "2 a  b 'c\n" });
    }
  });

  test("sees why a script with CR LF or without its interpreter cannot start", async () => {
    const run = async (text: string) => {
      const file = site.path("jobs.yaml");
      writeFileSync(file, JSON.stringify({ script: text }));
      return (await site.run("submit", "--wait", "--file", file)).stderr;
    };
    expect(await run("#!/bin/sh\r\necho hi\r\n")).toContain(
      "program not found: the interpreter of the script, /bin/sh (the lines of the script end in CR LF; write LF)",
    );
    expect(await run("#!/no/such\n")).toContain(
      "not found: the interpreter of the script, /no/such",
    );
  });

  test("reads the output of a whole array, of failed tasks, or of its end", async () => {
    const script = "echo a; echo b; echo no >&2; exit $((BUSBAR_ARRAY_INDEX % 2))";
    await site.run("submit", "--array", "0-3", "--wait", "--", "sh", "-c", script);
    const all = await site.run("logs", "1");
    const each = (lines: (index: number) => string): string => [0, 1, 2, 3].map(lines).join("");
    expect(all.stdout).toBe(each((index) => `[${index}] a\n[${index}] b\n`));
    expect(all.stderr).toBe(each((index) => `[${index}] no\n`));
    const failed = await site.run("logs", "1", "--failed", "--tail", "1");
    expect(failed.stdout).toBe("[1] b\n[3] b\n");
    expect((await site.run("logs", "1", "--follow", "--stderr")).stdout.split("\n")).toHaveLength(
      5,
    );
    const json = await site.json<{ outputs: unknown[] }>("logs", "1", "--stderr");
    expect(json.outputs).toHaveLength(4);
    expect(await site.run("logs", "1.2")).toMatchObject({ stdout: "a\nb\n", stderr: "no\n" });
    await site.run("submit", "--wait", "--stdout", "%j.out", "--", "echo", "in a file");
    expect(site.lines("2.out")).toEqual(["in a file"]);
    expect((await site.run("logs", "2")).stderr).toContain("the stdout went to %j.out on the node");
  });

  test("submits an array of a thousand and waits", async () => {
    const { code } = await site.run("submit", "--array", "0-999", "--wait", "--", "true");
    expect(code).toBe(0);
    const job = await site.json<{ tasks: Record<string, number> }>("job", "1");
    expect(job.tasks).toMatchObject({ succeeded: 1_000 });
    const stats = await site.json<{ tasks: Record<string, number> }>("stats");
    expect(stats.tasks).toMatchObject({ succeeded: 1_000 });
    expect((await site.run("jobs")).stdout).toContain("succeeded");
  });

  test("requests 10,000 cpus and sees why that never runs", async () => {
    const ask = ["--cpu", "10000", "--", "true"];
    const refused = await site.run("submit", ...ask);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/can run this job: .*10000 cpu requested.* \(--allow-unsat/);
    const allowed = await site.run("submit", "--allow-unsatisfiable", ...ask);
    expect(allowed.code).toBe(0);
    expect(allowed.stderr).toContain("busbar explain");
    const { code, stdout } = await site.run("explain", "1");
    expect(code).toBe(0);
    expect(stdout).toMatch(/10000 cpu/);
  });

  test("finds the documentation, the OpenAPI document, metrics and health", async () => {
    const get = async (path: string): Promise<string> =>
      (await fetch(`${site.http}${path}`)).text();
    expect(JSON.parse(await get("/v1/openapi.json"))).toMatchObject({
      openapi: expect.stringMatching(/^3\.1/),
    });
    expect(await get("/docs")).toContain("<html");
    expect(await get("/metrics")).toContain("busbar_");
    expect((await fetch(`${site.http}/healthz`)).status).toBe(200);
    expect((await fetch(`${site.http}/readyz`)).status).toBe(200);
  });

  test("submits over REST and reads the output there", async () => {
    const body = JSON.stringify({ command: ["sh", "-c", "echo over rest"] });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${site.http}/v1/jobs`, { method: "POST", body, headers });
    expect(answer.status).toBeLessThan(300);
    await site.jobIs("1", "succeeded");
    const output = await fetch(`${site.http}/v1/tasks/1/output?stream=stdout`);
    expect(await output.text()).toBe("over rest\n");
  });
});

describe("watches", () => {
  test("of clients that have disconnected, cleanly or not, are removed", async () => {
    await site.run("submit", "--wait", "--", "true");
    const watcher = site.start(["--server", site.server, "watch"]);
    await watcher.prints(/watching/);
    await site.run("run", "--", "true");
    await watcher.prints(/succeeded/);
    await watcher.end("SIGKILL");
    await eventually(async () => (await site.client.getStats({})).watches === 0n, {
      what: "no watch to be left",
    });
  });
});

describe("tasks", () => {
  test("find their identity in their environment", async () => {
    const { stdout } = await site.run(
      "run",
      "--env",
      "MINE=x",
      "--",
      "sh",
      "-c",
      "env | grep -E '^(BUSBAR_|MINE|MALLOC_)' | sort",
    );
    expect(stdout.trim().split("\n")).toEqual([
      "BUSBAR_ATTEMPT=1",
      "BUSBAR_CLUSTER=default",
      "BUSBAR_JOB_ID=1",
      "BUSBAR_NODE=local",
      expect.stringMatching(/^BUSBAR_PROGRESS_FILE=\/.+$/),
      expect.stringMatching(/^BUSBAR_RUN=[0-9a-f]+-[0-9a-f]+\.1\.0\.1$/),
      "BUSBAR_TASK_ID=1",
      "MINE=x",
    ]);
    await site.run(
      "submit",
      "--array",
      "3-7:2",
      "--wait",
      "--",
      "sh",
      "-c",
      "echo $BUSBAR_TASK_ID $BUSBAR_ARRAY_INDEX $BUSBAR_ARRAY_SIZE",
    );
    expect((await site.run("logs", "2.5")).stdout).toBe("2.5 5 3\n");
  });

  test("that are cancelled die with all their children", async () => {
    const marker = site.path("child");
    const script = `sh -c 'trap "" TERM; echo $$ > "${marker}"; while :; do sleep 1; done' & wait`;
    await site.json("submit", "--", "sh", "-c", script);
    const id = "1";
    const [line] = await eventually(
      () => {
        const lines = site.lines("child");
        return lines.length > 0 && lines;
      },
      { what: "the child to start" },
    );
    const pid = Number(line);
    expect((await site.run("cancel", id)).code).toBe(0);
    await site.jobIs(id, "cancelled");
    await eventually(() => !isAlive(pid), { what: "the child to be gone" });
  });

  test("that run too long are stopped, and those that fail are retried", async () => {
    const slow = await site.run("run", "--time-limit", "1s", "--", "sleep", "60");
    expect(slow.code).not.toBe(0);
    expect((await site.json<{ reason: string }>("job", "1")).reason).toContain("time limit");
    const flaky = `n=$(cat "${site.path("count")}" 2>/dev/null || echo 0); echo $((n + 1)) > "${site.path("count")}"; [ $n -ge 2 ]`;
    const { code } = await site.run(
      "run",
      "--retries",
      "3",
      "--retry-backoff",
      "10ms",
      "--",
      "sh",
      "-c",
      flaky,
    );
    expect(code).toBe(0);
    expect(await site.json("job", "2.0")).toMatchObject({ attempt: 3 });
  });
});
