import { afterEach, beforeEach, expect, test } from "vitest";
import { State } from "../../src/gen/busbar/v1/busbar_pb.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { type Running, Site } from "../support/busbar.ts";

let above: Site;
let below: Site;
beforeEach(() => {
  [above, below] = [new Site(), new Site()];
});
afterEach(async () => {
  for (const site of [above, below]) await site.close();
});

const TASKS = 60;
const OPEN = [State.PENDING, State.RUNNING, State.ACCEPTED];

/** Writes a line when it begins and one when it is done: a task that runs twice appears twice. */
const noting = (): string =>
  `echo "$BUSBAR_ORIGIN_TASK_ID" >>"${above.path("began")}"
   sleep 0.$((1 + BUSBAR_ARRAY_INDEX % 9))
   echo "$BUSBAR_ORIGIN_TASK_ID" >>"${above.path("ended")}"
   exit $((BUSBAR_ARRAY_INDEX % 2))`;

test("kill -9 of the agent, of either server and of the node loses nothing and runs nothing twice", async () => {
  const speak = (): Running => {
    const own = ["--server", above.server, "--cluster", "site-a", "--data", above.path("site")];
    const how = ["--executor", "busbar", "--to", below.server, "--take", "queue=20"];
    return above.start(["agent", ...own, ...how, "--refresh", "1s", "--lease", "1s"]);
  };
  const work = (): Running => {
    const own = ["--server", below.server, "--name", "n1", "--data", below.path("n1")];
    return below.start(["agent", ...own, "--cpu", "6", "--on-lost", "keep"]);
  };
  const parts: Record<string, { start(): Promise<Running> | Running; running: Running }> = {
    above: { start: () => above.startServer(), running: await above.startServer() },
    below: { start: () => below.startServer(), running: await below.startServer() },
    node: { start: work, running: work() },
    agent: { start: speak, running: speak() },
  };
  await above.nodeIs("site-a-agent", "connected");
  const spec = { placement: { cluster: "site-a" }, array: `0-${TASKS - 1}`, script: noting() };
  const { jobs } = await above.client.submitJobs({ jobs: [{ spec }] });
  const id = jobs[0]?.id ?? "";

  const endless = { placement: { cluster: "site-a" }, array: "0-3", command: ["sleep", "600"] };
  const unwanted = (await above.client.submitJobs({ jobs: [{ spec: endless }] })).jobs[0]?.id ?? "";

  // Each in turn, when tasks begin and end, and the agent most often.
  const order = ["agent", "below", "agent", "above", "agent", "node", "below", "agent"];
  for (const [at, name] of order.entries()) {
    const enough = Math.floor(((at + 1) * TASKS) / (order.length + 2));
    await eventually(() => above.lines("began").length >= enough, {
      what: `${enough} tasks to begin`,
      timeoutMs: 60_000,
    });
    const part = parts[name];
    if (part === undefined) throw new Error(name);
    if (at === 3) await above.client.cancelJob({ id: unwanted }); // just before its server goes
    await part.running.end("SIGKILL");
    part.running = await part.start();
  }
  await above.jobIs(id, "failed"); // every second task fails
  await above.jobIs(unwanted, "cancelled");
  await eventually(
    async () => {
      const { jobs: open } = await below.client.listJobs({ filter: { states: OPEN } });
      return open.length === 0;
    },
    { what: "nothing to be left below", timeoutMs: 60_000 },
  );
  const all = Array.from({ length: TASKS }, (_, index) => `${id}.${index}`).sort();
  expect(above.lines("began")).toEqual(all);
  expect(above.lines("ended")).toEqual(all);
  const { tasks } = await above.client.listTasks({ jobId: id, pageSize: 1_000 });
  expect(tasks.flatMap(({ past }) => past)).toEqual([]); // withdrawn offers do not count
  expect(tasks.map(({ exitCode }) => exitCode)).toEqual(tasks.map(({ index }) => index % 2));
  // The journal drops runs whose ends the server above has.
  await eventually(async () => (await above.client.getNode({ name: "site-a-agent" })).tasks === 0, {
    what: "the agent to have nothing left",
  });
}, 300_000);
