import { rmSync, writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Running } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { counted, type GoTask, GoScheduleSite, idsOf } from "./support/go-schedule.ts";

// Workers that acknowledge late, report too often or not at all, or fall silent.
let site: GoScheduleSite;
beforeEach(() => {
  site = new GoScheduleSite();
}, 300_000);
afterEach(() => site.close());

/** The server detects a silent worker soon. */
const QUICK = ["--go-schedule-ping", "500ms", "--go-schedule-silence", "2s"];

const shell = (text: string): GoTask => ({ cmd: "sh", params: ["-c", text] });

/** Prints that it began, waits until the file is removed, prints that it ended. */
function held(name: string, exitCode: number): GoTask {
  const file = site.path(name);
  writeFileSync(file, "");
  return shell(
    `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("started")}"
     while [ -e "${file}" ]; do sleep 0.1; done
     echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("ended")}"
     exit ${exitCode}`,
  );
}
const release = (name: string): void => rmSync(site.path(name));

const linesAre = (name: string, count: number): Promise<unknown> =>
  eventually(() => site.lines(name).length >= count, {
    what: () => `${count} lines in ${name}, not ${site.lines(name).length}`,
    timeoutMs: 60_000,
  });

const namesOf = (worker: Running): readonly string[] =>
  [...worker.output.matchAll(/Connected as ([0-9a-f-]{36})/g)].map(([, name = ""]) => name);
const isNamed = (worker: Running, count: number): Promise<unknown> =>
  eventually(() => namesOf(worker).length >= count, {
    what: () => `${count} connections: ${worker.output}`,
    timeoutMs: 60_000,
  });

/** Each appends a line; all must have done so once, at their first attempt. */
async function runOnce(count: number): Promise<void> {
  const text = `echo "$BUSBAR_TASK_ID $BUSBAR_ATTEMPT" >>"${site.path("ran")}"`;
  const rows = await site.schedule(Array.from({ length: count }, () => shell(text)));
  await site.allSucceed(count);
  expect(site.lines("ran")).toEqual(
    idsOf(rows)
      .map((id) => `${id} 1`)
      .toSorted(),
  );
  expect(counted((await site.list("tasks")).map(([, state]) => state))).toEqual({ done: count });
}

describe("a worker that", () => {
  test("acknowledges after it has reported, and reports three times, runs each task once", async () => {
    await site.startGoSchedule();
    const worker = site.startWorker("one", "-late-ack", "-duplicate-reports");
    await site.nodesAre(1);
    await runOnce(60);
    expect(namesOf(worker)).toHaveLength(1);
  });

  test("does not report every fifth end has all its tasks end", async () => {
    await site.startGoSchedule();
    const worker = site.startWorker("one", "-drop-report", "5");
    await site.nodesAre(1);
    await runOnce(8);
    expect(worker.output).toContain("dropped the report");
    expect(namesOf(worker)).toHaveLength(1);
  });

  test("reports a task that it was never assigned changes nothing", async () => {
    await site.startGoSchedule();
    const honest = site.startWorker("honest");
    await site.nodesAre(1);
    const [[id = ""] = []] = await site.schedule([held("hold", 5)]);
    await linesAre("started", 1);
    const given = [...honest.output.matchAll(/"exec ([^"]+)"/g)].map(([, exec = ""]) => exec);
    expect(given.length).toBeGreaterThan(1);
    const ids = [...given, id, `${id}.0`, "00000000-0000-4000-8000-000000000000"];
    // The report that the honest worker would send at the end.
    const forged = `terms 1 1 sh\nbegan 1.0\nended 2.0 0\nend\n`;
    const stranger = site.startWorker("two", "-stranger", ids.join(","), "-forged", forged);
    const told = () =>
      stranger.output.match(/as a stranger: \\u003cnil\\u003e/g)?.length === ids.length;
    await eventually(told, {
      what: () => `an answer to each of ${ids.length}: ${stranger.output}`,
    });
    expect(await site.task(id)).toMatchObject({ state: "running", attempt: 1 });
    release("hold");
    await site.jobIs(id, "failed");
    expect(await site.task(id)).toMatchObject({ exitCode: 5, attempt: 1 });
    expect(site.lines("ended")).toEqual([`${id} 1`]);
    expect([namesOf(honest).length, namesOf(stranger).length]).toEqual([1, 1]);
  });

  test("answers no pings is disconnected, and its task ends elsewhere", async () => {
    await site.startGoSchedule(...QUICK, "--node-lost-after", "1s");
    const mute = site.startWorker("mute", "-no-pong", "-reconnect", "600");
    const [name = ""] = await site.nodesAre(1);
    const [[id = ""] = []] = await site.schedule([held("hold", 0)]);
    await linesAre("started", 1);
    await mute.prints(/timer for rx of 2000000000 expired/);
    await site.nodeIs(name, "lost");
    expect(await site.list("workers")).toEqual([[name, "127.0.0.1", "disconnected"]]);
    // On the same machine, but another process: a second node, or the first one again.
    site.startWorker("other");
    await site.nodesAre(1);
    await linesAre("started", 2);
    release("hold");
    await site.jobIs(id, "succeeded");
    expect(await site.task(id)).toMatchObject({ attempt: 2 });
    expect((await site.list("tasks")).map(([, state]) => state)).toEqual(["done"]);
  });

  test("sends nothing at all is disconnected too", async () => {
    await site.startGoSchedule(...QUICK);
    const worker = site.startWorker("one", "-silence", "60");
    const [name = ""] = await site.nodesAre(1);
    worker.child.kill("SIGSTOP");
    await site.nodeIs(name, "disconnected");
    worker.child.kill("SIGCONT");
    await site.nodeIs(name, "connected");
  });
});

describe("a worker that was away", () => {
  test("is the same node under another name, and tasks that ended meanwhile show their real ends", async () => {
    await site.startGoSchedule(...QUICK);
    const worker = site.startWorker("one");
    const [name = ""] = await site.nodesAre(1);
    const rows = await site.schedule([held("first", 7), held("second", 9)]);
    const [first = "", second = ""] = idsOf(rows);
    await linesAre("started", 2);
    worker.child.kill("SIGSTOP");
    await site.nodeIs(name, "disconnected");
    release("first"); // whose end the worker will never report
    await linesAre("ended", 1);
    worker.child.kill("SIGCONT");
    await site.nodeIs(name, "connected");
    await isNamed(worker, 2);
    release("second");
    await site.jobIs(first, "failed");
    await site.jobIs(second, "failed");
    expect(await site.task(first)).toMatchObject({ exitCode: 7, attempt: 1, node: name });
    expect(await site.task(second)).toMatchObject({ exitCode: 9, attempt: 1, node: name });
    expect(site.lines("started")).toEqual([`${first} 1`, `${second} 1`].toSorted());
    expect(await site.list("workers")).toEqual([[name, "127.0.0.1", "connected"]]);
    const names = namesOf(worker);
    expect(new Set(names).size).toBe(names.length);
  });

  test("because it was killed and restarted is the same node, and its tasks continued", async () => {
    await site.startGoSchedule();
    const killed = site.startWorker("one");
    const [name = ""] = await site.nodesAre(1);
    const [[id = ""] = []] = await site.schedule([held("hold", 4)]);
    await linesAre("started", 1);
    await killed.end("SIGKILL");
    await site.nodeIs(name, "disconnected");
    site.startWorker("one");
    await site.nodeIs(name, "connected");
    release("hold");
    await site.jobIs(id, "failed");
    expect(await site.task(id)).toMatchObject({ exitCode: 4, attempt: 1, node: name });
    expect(site.lines("ended")).toEqual([`${id} 1`]);
    expect(await site.list("workers")).toHaveLength(1);
  });

  test("because the server was killed and restarted is the same node too", async () => {
    await site.startGoSchedule();
    site.startWorker("one");
    const [name = ""] = await site.nodesAre(1);
    const [[id = ""] = []] = await site.schedule([held("hold", 6)]);
    await linesAre("started", 1);
    await site.killServer();
    release("hold"); // no server received its report then
    await linesAre("ended", 1);
    await site.startGoSchedule();
    await site.jobIs(id, "failed");
    expect(await site.task(id)).toMatchObject({ exitCode: 6, attempt: 1, node: name });
    expect(site.lines("started")).toHaveLength(1);
    expect(await site.list("workers")).toEqual([[name, "127.0.0.1", "connected"]]);
  });
});

test("several workers on one machine are a node each", async () => {
  await site.startGoSchedule();
  for (const name of ["one", "two", "three"]) site.startWorker(name);
  const [first = "", ...others] = await site.nodesAre(3);
  expect(others).toEqual([`${first}-2`, `${first}-3`]);
});

test("a limit that the server has for schedctl's tasks stops them", async () => {
  await site.startGoSchedule("--go-schedule-time-limit", "1s");
  site.startWorker("one");
  await site.nodesAre(1);
  const [[id = ""] = []] = await site.schedule([held("hold", 0)]);
  await site.jobIs(id, "failed");
  expect((await site.task(id)).reason).toMatch(/time limit/);
  expect((await site.list("tasks")).map(([, state]) => state)).toEqual(["dead"]);
  expect(site.lines("ended")).toEqual([]);
});
