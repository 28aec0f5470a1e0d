import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { isAlive } from "../../src/testing/is-alive.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
afterEach(() => site.close());

/** A task that prints its start, waits until a file appears, prints its end, and exits with `code`. */
const aTask = (code = 0): string[] => [
  "sh",
  "-c",
  `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT $$" >>"${site.path("started")}"
   while [ -d "${site.directory}" ] && [ ! -e "${site.path("go")}" ]; do sleep 0.2; done
   echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("ended")}"
   exit ${code}`,
];

const startedAre = (count: number): Promise<unknown> =>
  eventually(() => site.lines("started").length >= count, {
    what: `${count} tasks to start`,
    timeoutMs: 90_000,
  });

const letThemEnd = (): void => writeFileSync(site.path("go"), "");

/** Submits and returns the job's id. */
async function submit(...args: string[]): Promise<string> {
  const { jobs } = await site.json<{ jobs: { id: string }[] }>("submit", ...args);
  return jobs[0]?.id ?? "none";
}

test("a watched list survives a restart of the server, and ends quietly", async () => {
  site = new Site();
  const server = await site.startServer();
  const flags = ["--server", site.server, "jobs", "--watch", "--output", "json"];
  const watching = site.start(flags);
  const first = await submit("--", "true");
  await watching.prints(new RegExp(`"id":"${first}"`));
  await server.end("SIGKILL");
  await watching.prints(/lost the connection; trying again/);
  await site.startServer();
  const second = await submit("--", "true");
  await watching.prints(new RegExp(`"id":"${second}"`));
  expect(await watching.end("SIGINT")).toBe(130);
  const lines = watching.output.trimEnd().split("\n");
  const values = lines.filter((line) => !line.startsWith("busbar: lost the connection"));
  for (const line of values) expect(JSON.parse(line)).toHaveProperty("state");
  const frame = await site.json<{ stats: { jobs: object } }>("top");
  expect(frame.stats.jobs).toMatchObject({ pending: 2 });
}, 120_000);

describe("kill -9 in the middle of work", () => {
  test("of the server, with 300 tasks on two agents: all end, once", async () => {
    site = new Site();
    const server = await site.startServer();
    await site.startAgent("a1", "--cpu", "200");
    await site.startAgent("a2", "--cpu", "200");
    const id = await submit("--array", "0-299", "--", ...aTask());
    await startedAre(300);
    await server.end("SIGKILL");
    await site.startServer();
    await site.nodeIs("a1", "connected");
    await site.nodeIs("a2", "connected");
    letThemEnd();
    await site.jobIs(id, "succeeded");
    const once = Array.from({ length: 300 }, (_, index) => `${id}.${index} 1`).sort();
    expect(site.lines("ended")).toEqual(once);
    expect(site.lines("started").length).toBe(300);
    const counts = await site.json<{ tasks: Record<string, number> }>("job", id);
    expect(counts.tasks).toMatchObject({ succeeded: 300 });
  });

  test("of the agent: its processes continue and their real exit codes are reported", async () => {
    site = new Site();
    await site.startServer();
    const agent = await site.startAgent("a1", "--cpu", "8");
    const id = await submit("--", ...aTask(7));
    const other = await submit("--", ...aTask(0));
    await startedAre(2);
    await agent.end("SIGKILL");
    await site.nodeIs("a1", "disconnected");
    const pids = site.lines("started").map((line) => Number(line.split(" ")[2]));
    expect(pids.every(isAlive)).toBe(true);
    await site.startAgent("a1", "--cpu", "8");
    letThemEnd();
    await site.jobIs(id, "failed");
    await site.jobIs(other, "succeeded");
    const task = await site.json("job", `${id}.0`);
    expect(task).toMatchObject({ exitCode: 7, attempt: 1 });
    expect(site.lines("ended").length).toBe(2);
  });

  test("of the agent, whose tasks end while it is away: nothing is lost or run again", async () => {
    site = new Site();
    await site.startServer();
    const agent = await site.startAgent("a1", "--cpu", "8");
    await site.startAgent("a2", "--cpu", "1");
    const id = await submit("--node", "a1", "--", ...aTask(3));
    await startedAre(1);
    await agent.end("SIGKILL");
    letThemEnd();
    await eventually(() => site.lines("ended").length === 1, { what: "the task to end" });
    await site.startAgent("a1", "--cpu", "8");
    await site.jobIs(id, "failed");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ exitCode: 3, attempt: 1 });
  });

  test("of both at once", async () => {
    site = new Site();
    const server = await site.startServer();
    const agent = await site.startAgent("a1", "--cpu", "50");
    const id = await submit("--array", "0-19", "--", ...aTask());
    await startedAre(20);
    await Promise.all([server.end("SIGKILL"), agent.end("SIGKILL")]);
    await site.startServer();
    await site.startAgent("a1", "--cpu", "50");
    letThemEnd();
    await site.jobIs(id, "succeeded");
    expect(site.lines("ended").length).toBe(20);
  });
});

describe("orderly stops", () => {
  test("SIGTERM of server and agent leaves tasks running; they are found again", async () => {
    site = new Site();
    const server = await site.startServer();
    const agent = await site.startAgent("a1", "--cpu", "4");
    const id = await submit("--", ...aTask(4));
    await startedAre(1);
    expect(await server.end("SIGTERM")).toBe(0);
    expect(await agent.end("SIGTERM")).toBe(0);
    expect(isAlive(Number(site.lines("started")[0]?.split(" ")[2]))).toBe(true);
    await site.startServer();
    await site.startAgent("a1", "--cpu", "4");
    letThemEnd();
    await site.jobIs(id, "failed");
    expect(await site.json("job", `${id}.0`)).toMatchObject({ exitCode: 4, attempt: 1 });
  });

  test("a second server on the same data is refused and harms nothing", async () => {
    site = new Site();
    await site.startServer();
    const second = site.start([
      "server",
      "--data",
      site.path("data"),
      "--http",
      "127.0.0.1:0",
      "--grpc",
      "127.0.0.1:0",
    ]);
    expect(await second.end()).toBe(1);
    expect(second.output).toMatch(/another process|holds/);
    expect((await site.run("stats")).code).toBe(0);
  });

  test("the error about a port in use names it, and says how to choose another", async () => {
    site = new Site();
    await site.startServer();
    const second = site.start([
      "server",
      "--data",
      site.path("data2"),
      "--http",
      "127.0.0.1:0",
      "--grpc",
      site.server,
    ]);
    expect(await second.end()).toBe(1);
    expect(second.output).toContain("--grpc");
  });
});

describe("nodes", () => {
  test("a lost node's tasks run elsewhere with a new attempt; its old process is stopped on return", async () => {
    site = new Site();
    await site.startServer("--node-lost-after", "1s");
    const first = await site.startAgent("a1", "--cpu", "1");
    const id = await submit("--", ...aTask());
    await startedAre(1);
    const oldPid = Number(site.lines("started")[0]?.split(" ")[2]);
    await first.end("SIGKILL");
    await site.startAgent("a2", "--cpu", "2");
    await site.nodeIs("a1", "lost");
    await startedAre(2);
    expect(isAlive(oldPid)).toBe(true);
    await site.startAgent("a1", "--cpu", "1");
    await eventually(() => !isAlive(oldPid), {
      what: "the old attempt to be stopped",
      timeoutMs: 60_000,
    });
    letThemEnd();
    await site.jobIs(id, "succeeded");
    expect(site.lines("ended")).toEqual([`${id} 2`]);
    expect(await site.json("job", `${id}.0`)).toMatchObject({ attempt: 2, node: "a2" });
  });

  test("a draining node keeps its tasks and gets no more", async () => {
    site = new Site();
    await site.startServer();
    await site.startAgent("a1", "--cpu", "4");
    const id = await submit("--", ...aTask());
    await startedAre(1);
    await site.run("nodes", "drain", "a1", "--reason", "repair");
    const later = await submit("--", "true");
    expect((await site.run("explain", later)).stdout).toContain("draining");
    await site.startAgent("a2", "--cpu", "1");
    await site.jobIs(later, "succeeded");
    expect(await site.json("job", `${later}.0`)).toMatchObject({ node: "a2" });
    letThemEnd();
    await site.jobIs(id, "succeeded");
    await site.nodeIs("a1", "drained");
    await site.run("nodes", "undrain", "a1");
    await site.nodeIs("a1", "connected");
  });

  test("an agent that uses another agent's name is refused for good", async () => {
    site = new Site();
    await site.startServer();
    await site.startAgent("a1");
    const liar = site.start([
      "agent",
      "--server",
      site.server,
      "--name",
      "a1",
      "--data",
      site.path("liar"),
    ]);
    expect(await liar.end()).toBe(1);
    expect(liar.output).toContain("belongs to another agent");
    await site.nodeIs("a1", "connected");
  });
});
