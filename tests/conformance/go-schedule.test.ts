import { rmSync, writeFileSync } from "node:fs";
import { availableParallelism, hostname, totalmem } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isAlive } from "../../src/testing/is-alive.ts";
import { type Running } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { counted, type GoTask, GoScheduleSite, idsOf } from "./support/go-schedule.ts";

// go-schedule's own programs are not available as a module. These are ours, made from the same parts (grpc-go and Go's protobuf at their
// versions), with the same behaviour on the wire.
let site: GoScheduleSite;
let worker: Running;
const node = `gs-${hostname().toLowerCase()}`;
beforeAll(async () => {
  site = new GoScheduleSite();
  await site.startGoSchedule();
  worker = site.startWorker("one");
  await site.nodesAre(1);
}, 300_000);
afterAll(() => site.close());

const STDOUT = 1;
const shell = (text: string): GoTask => ({ cmd: "sh", params: ["-c", text] });

/** Schedules one task and waits for its end. */
async function ended(task: GoTask, state: string): Promise<string> {
  const [[id = ""] = []] = await site.schedule([task]);
  await site.jobIs(id, state);
  return id;
}

async function submit(...args: string[]): Promise<string> {
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...args);
  return jobs[0]?.id ?? "none";
}

const rowOf = async (id: string) => (await site.list("tasks")).find(([each]) => each === id);

async function outputOf(taskId: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const { data } of site.client.readOutput({ taskId, stream: STDOUT })) parts.push(data);
  return Buffer.concat(parts);
}

describe("a worker", () => {
  test("is one node, with its address and capacity", async () => {
    expect(await site.list("workers")).toEqual([[node, "127.0.0.1", "connected"]]);
    const { capacity, cluster, tasks } = await site.client.getNode({ name: node });
    expect(capacity).toMatchObject({ cpu: expect.any(Number), memory: expect.any(Number) });
    expect(capacity["cpu"]).toBeLessThanOrEqual(availableParallelism());
    expect(capacity["cpu"]).toBeGreaterThan(0);
    expect(capacity["memory"]).toBeLessThanOrEqual(totalmem());
    expect({ cluster, tasks }).toEqual({ cluster: "default", tasks: 0 });
  });

  test("can run tasks", async () => {
    const { code, stdout } = await site.run("run", "--node", node, "--", "hostname");
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${hostname()}\n` });
  });

  test("never runs more tasks than it has cpus for", async () => {
    const cpus = (await site.client.getNode({ name: node })).capacity["cpu"] ?? 0;
    const hold = site.path("hold-many");
    writeFileSync(hold, "");
    const text = `echo "$BUSBAR_TASK_ID" >>"${site.path("held")}"; while [ -e "${hold}" ]; do sleep 0.1; done`;
    const rows = await site.schedule(Array.from({ length: cpus + 2 }, () => shell(text)));
    try {
      await eventually(() => site.lines("held").length >= cpus, { what: "some to start" });
      for (const id of idsOf(rows).slice(0, cpus)) await site.jobIs(id, "running");
      const states = (await site.list("tasks")).slice(0, cpus + 2).map(([, state]) => state);
      expect(counted(states)).toEqual({ pending: 2, scheduled: cpus });
      expect(site.lines("held")).toHaveLength(cpus);
    } finally {
      rmSync(hold);
    }
    for (const [id = ""] of rows) await site.jobIs(id, "succeeded");
    expect(site.lines("held")).toEqual(idsOf(rows).toSorted());
  });
});

describe("schedctl", () => {
  test("schedules tasks, and lists their outcomes, newest first", async () => {
    const rows = await site.schedule([
      { cmd: "printf", params: ["%s", "12345678901234567890123"] },
      shell("printf wrong >&2; exit 3"),
    ]);
    const [first = "", second = ""] = idsOf(rows);
    expect(rows).toEqual([
      [first, "pending", "", "", ""],
      [second, "pending", "", "", ""],
    ]);
    expect(Number(second)).toBe(Number(first) + 1);
    await site.jobIs(first, "succeeded");
    await site.jobIs(second, "failed");
    const listed = await eventually(
      async () => {
        const told = (await site.list("tasks")).slice(0, 2);
        return told.every((row) => row[3] !== "" || row[4] !== "") && told;
      },
      { what: "the outputs in the list" },
    );
    expect(listed).toEqual([
      [second, "done", node, "", "wrong"],
      [first, "done", node, "12345678901234567890", ""],
    ]);
    expect(await site.task(second)).toMatchObject({ state: "failed", exitCode: 3, attempt: 1 });
  });

  test("lists tasks that came by another door, and each task of an array", async () => {
    const id = await submit("--array", "0-1", "--", "true");
    await site.jobIs(id, "succeeded");
    const rows = (await site.list("tasks")).slice(0, 2);
    expect(rows.map(([task, state]) => `${task} ${state}`).toSorted()).toEqual([
      `${id}.0 done`,
      `${id}.1 done`,
    ]);
  });

  test("receives the reason when a request is rejected, and nothing is scheduled", async () => {
    const before = (await site.list("tasks")).length;
    const { code, stderr } = await site.trySchedule([{ cmd: "true" }, { params: ["x"] }]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Connection problems: rpc error: code = InvalidArgument desc = .*tasks\[1\].cmd/,
    );
    expect(await site.schedule([])).toEqual([]);
    expect(await site.list("tasks")).toHaveLength(before);
  });

  test("gets UNIMPLEMENTED for other methods", async () => {
    const { code, stderr } = await site.schedctl("call", "/proto.Scheduler/Cancel");
    expect(code).toBe(1);
    expect(stderr).toContain("code = Unimplemented");
  });

  test("reaches the same door on the main port", async () => {
    const { code, stdout } = await site.schedctl("-server", site.server, "workers", "ls");
    expect(code).toBe(0);
    expect(stdout).toContain(`${node} |127.0.0.1 |connected`);
  });
});

describe("a task on a worker", () => {
  test("whose program is missing could not start, and the reason names it", async () => {
    const id = await ended({ cmd: "no-such-program-here", params: ["x"] }, "failed");
    const { reason } = await site.task(id);
    expect(reason).toMatch(/no-such-program-here/);
    const explained = await site.run("job", id);
    expect(explained.stdout).toContain("no-such-program-here");
  });

  test("that a signal ends shows its signal", async () => {
    const id = await ended(shell("kill -SEGV $$"), "failed");
    expect((await site.client.getTask({ id })).signal).toBe("SIGSEGV");
  });

  test("is stopped at its time limit, with all its processes", async () => {
    const id = await submit("--time-limit", "1s", "--", "sh", "-c", lasting("limited"));
    await site.jobIs(id, "failed");
    expect((await site.task(id)).reason).toMatch(/time limit/);
    await allGone("limited");
  });

  test("is stopped when it is cancelled, with all its processes", async () => {
    const [[id = ""] = []] = await site.schedule([shell(lasting("cancelled"))]);
    await eventually(() => site.lines("cancelled").length === 2, { what: "both to run" });
    await site.jobIs(id, "running");
    expect((await rowOf(id))?.[1]).toBe("scheduled");
    expect((await site.run("cancel", id)).code).toBe(0);
    await site.jobIs(id, "cancelled");
    await allGone("cancelled");
    expect((await rowOf(id))?.[1]).toBe("dead");
  });

  /** Two processes, which print their ids, and end only with the site. */
  const lasting = (file: string): string => `
    wait_for_end() { while [ -d "${site.directory}" ]; do sleep 0.2; done; }
    ( sh -c 'echo $PPID' >>"${site.path(file)}"; wait_for_end ) &
    echo $$ >>"${site.path(file)}"
    wait_for_end`;

  async function allGone(file: string): Promise<void> {
    const pids = site.lines(file).map(Number);
    expect(pids).toHaveLength(2);
    await eventually(() => !pids.some(isAlive), { what: `${pids.join(" and ")} to be gone` });
  }

  test("writes any bytes, and they are retained", async () => {
    const bytes = Buffer.from(Array.from({ length: 2_560 }, (_, at) => at % 256));
    writeFileSync(site.path("bytes"), bytes);
    const id = await ended({ cmd: "cat", params: [site.path("bytes")] }, "succeeded");
    expect((await outputOf(id)).equals(bytes)).toBe(true);
  });

  test("writes 20 MB, and they are retained", async () => {
    const bytes = Buffer.alloc(20_000_000);
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at ^ 0x9e3779b9) >>> 0, at);
    writeFileSync(site.path("large"), bytes);
    const id = await submit("--output-limit", "32MiB", "--", "cat", site.path("large"));
    await site.jobIs(id, "succeeded");
    expect((await outputOf(id)).equals(bytes)).toBe(true);
    expect(worker.isOver).toBe(false);
  });

  test("has its output followed while it runs", async () => {
    const text = `echo first; while [ ! -e "${site.path("go")}" ]; do sleep 0.1; done; echo last`;
    const [[id = ""] = []] = await site.schedule([shell(text)]);
    const follower = site.start(["--server", site.server, "logs", "--follow", id]);
    await follower.prints(/first/);
    expect((await site.task(id)).state).toBe("running");
    expect(follower.output).toBe("first\n");
    writeFileSync(site.path("go"), "");
    expect(await follower.end()).toBe(0);
    expect(follower.output).toBe("first\nlast\n");
  });

  test("finds its identity in its environment, and the worker's variables too", async () => {
    const id = await ended(shell('echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT $no_proxy"'), "succeeded");
    expect((await outputOf(id)).toString()).toBe(`${id} 1 *\n`);
  });

  test("gets its arguments unchanged", async () => {
    const params = ["-c", 'printf "<%s>" "$@"', "x", "", "a  'b\" $HOME", "ü\n✓", "*"];
    const id = await ended({ cmd: "sh", params }, "succeeded");
    expect((await outputOf(id)).toString()).toBe("<><a  'b\" $HOME><ü\n✓><*>");
  });
});
