import { afterEach, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { isAlive } from "../../src/testing/is-alive.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

/** Prints its instance, job, attempt and process, and continues until it is stopped. */
const serve = (): string[] => [
  "sh",
  "-c",
  `echo "$BUSBAR_JOB_ID $BUSBAR_ATTEMPT $$" >>"${site.path("started")}"
   while [ -d "${site.directory}" ]; do sleep 0.2; done`,
];

const apply = (...args: string[]) => site.json("services", "apply", "web", ...args);
const quick = ["--cpu", "0.1", "--restart", "always", "--restart-backoff", "100ms"];

/** Started attempts, as "job attempt", and the live processes. */
const started = (): string[] => site.lines("started").map((line) => line.replace(/ \d+$/, ""));
const alive = (): number[] =>
  site
    .lines("started")
    .map((line) => Number(line.split(" ")[2]))
    .filter(isAlive);

const webIs = (
  what: string,
  is: (web: { running?: number | undefined; state: string }) => boolean,
) =>
  eventually(async () => is(await site.client.getService({ name: "web" }).catch(() => NONE)), {
    what,
    timeoutMs: 90_000,
  });
const NONE = { running: 0, state: "away" };
const runs = (count: number) => webIs(`${count} to run`, ({ running }) => running === count);

test("a service continues after kill -9 of its process, of the agent and of the server", async () => {
  site = new Site();
  let server = await site.startServer();
  const agent = await site.startAgent("a1", "--cpu", "4");
  await apply("--replicas", "2", ...quick, "--", ...serve());
  await runs(2);
  expect(started()).toEqual(["1 1", "2 1"]);

  const [first = 0] = alive();
  process.kill(first, "SIGKILL");
  await eventually(() => started().length === 3, { what: "a restart", timeoutMs: 90_000 });
  await runs(2);
  const jobs = await Promise.all(["1", "2"].map((id) => site.client.getJob({ id })));
  expect(jobs.filter(({ restarts }) => restarts === 1)).toHaveLength(1);

  await agent.end("SIGKILL");
  await site.nodeIs("a1", "disconnected");
  expect(alive()).toHaveLength(2);
  await site.startAgent("a1", "--cpu", "4");
  await server.end("SIGKILL");
  server = await site.startServer();
  await site.nodeIs("a1", "connected");
  await runs(2);
  // Nothing was restarted, and nothing started twice.
  expect(started()).toHaveLength(3);
  expect(alive()).toHaveLength(2);

  await site.json("scale", "web", "3");
  await runs(3);
  await site.json("scale", "web", "1");
  await eventually(() => alive().length === 1, { what: "two to be stopped", timeoutMs: 90_000 });
  expect((await site.json<{ instances: number }>("services", "web")).instances).toBe(1);

  await site.json("services", "remove", "web");
  await eventually(async () => (await site.client.listServices({})).services.length === 0, {
    what: "the service to be gone",
    timeoutMs: 90_000,
  });
  expect(alive()).toEqual([]);
});

test("a rollout stops when the new template fails, and rollback replaces only the new instances", async () => {
  site = new Site();
  await site.startServer();
  await site.startAgent("a1", "--cpu", "4");
  const terms = ["--min-ready", "200ms", "--failures-max", "2", ...quick];
  await apply("--replicas", "3", ...terms, "--", ...serve());
  await runs(3);
  await apply(...quick, "--", "sh", "-c", "exit 3");
  await webIs("the rollout to stop", ({ state }) => state === "stopped");
  const stopped = await site.json("services", "web");
  expect(stopped).toMatchObject({
    generation: 2,
    running: 2,
    updated: 1,
    reason: "web-1 of generation 2 failed 2 times: exited with code 3",
  });
  expect(alive()).toHaveLength(2);
  await site.json("services", "rollback", "web");
  await webIs("the rollback to be done", ({ state, running }) => state === "done" && running === 3);
  expect(started()).toEqual(["1 1", "2 1", "3 1", "5 1"]);
  // A working template replaces them all.
  await apply(...terms, "--", ...serve(), "another");
  await webIs("the rollout to be done", ({ state, running }) => state === "done" && running === 3);
  expect(started()).toHaveLength(7);
  expect(alive()).toHaveLength(3);
  const { code, stdout } = await site.run("services");
  expect([code, stdout.split("\n")[1]]).toEqual([0, expect.stringMatching(/^web +3 +3 +3 +done/)]);
});
