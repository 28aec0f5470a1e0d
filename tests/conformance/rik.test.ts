import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { type RikProgram, RikSite, STATUS } from "./support/rik.ts";

// rik's own programs are not available as packages. These are ours, in Go, with the same behaviour on the wire. Each test names the duty of
// rik's scheduler that it checks: A towards workers, B towards controllers.
const { running, failed, terminated, creating, destroying } = STATUS;

let site: RikSite;
beforeAll(async () => {
  site = new RikSite();
  await site.startRik();
}, 300_000);
// A failed test leaves nothing for the next.
afterEach(() => site.clear(), 120_000);
afterAll(() => site.close());

const kill = (program: RikProgram): Promise<number | null> => program.running.end("SIGKILL");

describe("a worker", () => {
  test("A1, A4, A5, A8: registers, sends heartbeats, and receives messages that riklet can read", async () => {
    const worker = await site.worker("one", "-odd"); // sends invalid messages first
    await site.nodesAre(1);
    const controller = await site.controller();
    await controller.create("a5", {
      definition: '{"apiVersion":"v1","kind":"Pod","name":"n","spec":{}}',
    });
    await controller.told("a5", running);
    const [order] = worker.of("order", { id: "a5" });
    expect(order?.action).toBe(0);
    expect(JSON.parse(order?.definition ?? "")).toEqual({
      apiVersion: "v1",
      kind: "Pod",
      name: "n",
      spec: { containers: [], function: null },
      replicas: null,
    });
    await controller.destroy("a5");
    await controller.told("a5", terminated);
  });

  test("D: names and tokens in URLs are ignored while no secret is set", async () => {
    await site.workerAs("left:over@", "one");
    await site.nodesAre(1);
    const controller = await site.controllerAs("web:anything@");
    await controller.create("d1");
    await controller.told("d1", running);
  });

  test("A2: a worker without a host name and a live duplicate are refused, a dead one is replaced", async () => {
    const nameless = site.tryWorker("");
    expect(await nameless.until("ended")).toMatchObject({
      code: "FailedPrecondition",
      message: "No hostname specified",
    });
    const first = await site.worker("dup");
    const second = site.tryWorker("dup");
    expect(await second.until("ended")).toMatchObject({ code: "AlreadyExists" });
    const controller = await site.controller();
    await controller.until("worker", { id: "dup", status: running });
    first.running.child.kill("SIGSTOP");
    const third = await site.worker("dup");
    await controller.until("worker", { id: "dup", status: terminated });
    first.running.child.kill("SIGCONT");
    expect(await first.until("ended")).toMatchObject({ code: "Unavailable" });
    expect(third.of("ended")).toEqual([]);
  });

  test("A3: that registers again runs nothing, and receives its instances again", async () => {
    const worker = await site.worker("again");
    const controller = await site.controller();
    await controller.create("a3");
    await controller.told("a3", running);
    await kill(worker);
    const next = await site.worker("again");
    await next.until("order", { id: "a3" });
    await eventually(
      () => controller.statuses("a3").slice(-2).join() === `${creating},${running}`,
      {
        what: "a3 to run again",
      },
    );
    await controller.destroy("a3");
    await controller.told("a3", terminated);
  });

  test("A6: never receives an image without a tag; the controller receives the reason", async () => {
    const worker = await site.worker("tagged");
    const controller = await site.controller();
    const definition = JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      name: "n",
      spec: { containers: [{ name: "c", image: "alpine" }] },
    });
    await controller.create("a6", { definition });
    await controller.told("a6", failed);
    expect(controller.of("answered", { id: "a6" }).at(-1)?.code).toBe("OK");
    expect(controller.of("instance", { id: "a6" })[0]?.metrics).toContain("has no tag");
    await controller.destroy("a6");
    await controller.told("a6", terminated);
    expect(worker.of("order")).toEqual([]);
  });

  test("A7: that answers nothing has few orders under way, and others get the rest", async () => {
    const mute = await site.worker("mute", "-silent", "create");
    await site.nodesAre(1);
    const controller = await site.controller("-quiet");
    await site.worker("other", "-quiet");
    await site.nodesAre(2);
    controller.write({ do: "load", id: "a7", count: 400, callers: 8 });
    await mute.until("order", {}, 64);
    await eventually(async () => Number((await site.client.getStats({})).tasks?.running) >= 200, {
      what: "the other's to run",
    });
    expect(mute.of("order").length).toBe(64);
  });
});

describe("a lost worker", () => {
  test("A9: gets no destroy: its instances are placed again, end once, and no other worker gets one", async () => {
    const first = await site.worker("owner");
    await site.nodesAre(1);
    const controller = await site.controller();
    await controller.create("a9");
    await controller.told("a9", running);
    const second = await site.worker("heir");
    await site.nodesAre(2);
    await kill(first);
    await second.until("order", { id: "a9", action: 0 });
    const reasons = () => controller.of("instance", { id: "a9" }).map(({ metrics }) => metrics);
    await eventually(() => reasons().join("\n").includes("rik-owner was lost"), {
      what: () => `the loss among ${reasons().join()}`,
    });
    await controller.told("a9", running);
    await controller.destroy("a9");
    await controller.told("a9", terminated);
    expect(controller.statuses("a9").filter((status) => status === terminated).length).toBe(1);
  });

  test("an instance that takes worker after worker down fails in the end", async () => {
    const controller = await site.controller();
    const flags = ["-dies", "poison"];
    const workers = [];
    for (const name of ["p1", "p2", "p3", "p4"]) workers.push(await site.worker(name, ...flags));
    await site.nodesAre(4);
    await controller.create("poison");
    await controller.told("poison", failed);
    const ended = workers.filter(({ running: one }) => one.isOver).length;
    expect(ended).toBe(3);
    await controller.destroy("poison");
    await controller.told("poison", terminated);
  });
});

describe("a controller", () => {
  test("B1, B7: gets OK for every request, and no status of instances that it never requested", async () => {
    await site.worker("b1");
    const controller = await site.controller();
    await controller.create("", {});
    await controller.create("b1-text", { definition: "{" });
    await controller.destroy("b1-unknown");
    await controller.create("b1-odd", { action: 9 });
    await controller.told("b1-text", failed);
    await controller.told("b1-odd", running);
    expect(controller.of("answered").map(({ code }) => code)).toEqual(["OK", "OK", "OK", "OK"]);
    expect(controller.statuses("b1-unknown")).toEqual([]);
    for (const id of ["b1-text", "b1-odd", ""]) await controller.destroy(id);
    await controller.told("b1-odd", terminated);
  });

  test("B3, B4, B10: receives statuses of its own instances, from the name scheduler, and an end once", async () => {
    const worker = await site.worker("b3");
    const [one, two] = [await site.controller(), await site.controller()];
    await one.create("mine");
    await one.create("mine");
    await two.create("yours");
    await one.told("mine", running);
    await two.told("yours", running);
    expect(worker.of("order", { id: "mine" }).length).toBe(1);
    await one.destroy("mine");
    await one.told("mine", terminated);
    await one.destroy("mine");
    expect(new Set(one.of("instance").map(({ by }) => by))).toEqual(new Set(["scheduler"]));
    expect(one.statuses("mine")).toContain(destroying);
    expect(one.statuses("mine").filter((status) => status === terminated).length).toBe(1);
    expect([one.statuses("yours"), two.statuses("mine")]).toEqual([[], []]);
    await two.destroy("yours");
    await two.told("yours", terminated);
  });

  test("B5: receives all workers, with addresses that it can parse", async () => {
    const worker = await site.worker("early");
    const controller = await site.controller();
    const told = await controller.until("worker", { id: "early" });
    expect(told.address).toMatch(/^127\.0\.0\.1:\d+$/);
    await controller.until("worker", { id: "early", status: running });
    await kill(worker);
    await controller.until("worker", { id: "early", status: terminated });
  });

  test("B6, B9: that reconnects receives the status of its instances, and the ends that it missed", async () => {
    const worker = await site.worker("b6");
    const controller = await site.controller();
    const definition = (name: string): string =>
      JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        name,
        replicas: 5,
        spec: { containers: [] },
      });
    await controller.create("stays", { definition: definition("n") });
    await controller.create("ends");
    await controller.told("ends", running);
    await kill(controller);
    const caller = await site.controller("-deaf");
    await caller.destroy("ends");
    expect(caller.of("answered").at(-1)?.code).toBe("OK");
    const back = await site.controller();
    await back.told("ends", terminated);
    await back.told("stays", running);
    expect(back.statuses("ends").filter((status) => status === terminated).length).toBe(1);
    expect(worker.of("order", { id: "stays" }).length).toBe(1);
    await back.destroy("stays");
    await back.told("stays", terminated);
  });

  test("that does not read does not delay others", async () => {
    await site.worker("b-slow", "-quiet");
    const frozen = await site.controller("-frozen");
    const other = await site.controller("-quiet");
    frozen.write({ do: "load", id: "frozen", count: 2_000, callers: 8 });
    const { done, failed: refused } = await other.load("other", 1_000);
    expect({ done, refused }).toEqual({ done: true, refused: 0 });
  });
});

describe("under load", () => {
  test("8 callers with 10,000 instances, on a worker that answers one by one, all run and all end", async () => {
    await site.worker("load", "-quiet");
    const controller = await site.controller("-quiet");
    const made = await controller.load("many", 10_000);
    expect(made).toMatchObject({ done: true, told: 10_000, failed: 0 });
    const ended = await controller.load("many", 10_000, { action: 1 });
    expect(ended).toMatchObject({ done: true, told: 10_000, failed: 0 });
  }, 200_000);

  test("1,000 workers are served at once, and instances that request nothing are spread evenly", async () => {
    await site.worker("w", "-count", "1000", "-one-stream", "-quiet");
    await site.nodesAre(1_000);
    const controller = await site.controller("-quiet");
    for (const count of [1_000, 2_000]) {
      const loaded = await controller.load(`wide-${count}`, count);
      expect(loaded).toMatchObject({ done: true, told: count, failed: 0 });
      const counts = await site.instancesByWorker();
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
  }, 200_000);
});

describe("a server that is killed", () => {
  test("B8: loses nothing; a controller that receives nothing any more is restarted", async () => {
    let worker = await site.worker("b8");
    const controller = await site.controller("-agent", "tonic/0.8.3");
    await controller.create("before");
    await controller.told("before", running);
    await site.killServer();
    await worker.until("ended");
    await site.startRik();
    worker = await site.worker("b8");
    await worker.until("order", { id: "before" });
    const deaf = await site.controller("-deaf", "-agent", "tonic/0.8.3 grpc-go");
    await deaf.create("after");
    expect(deaf.of("answered").at(-1)?.code).toBe("Unavailable");
    const back = await site.controller("-agent", "tonic/0.8.3");
    await back.told("before", running);
    await back.told("after", running);
    await back.destroy("before");
    await back.destroy("after");
    await back.told("before", terminated);
    await back.told("after", terminated);
  }, 120_000);
});
