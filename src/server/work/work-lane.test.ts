import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { aSpec } from "../../testing/builders.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { jobId } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import { PartsSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import type { MessageInit } from "../sessions/agent-session.ts";
import { PackedSpecs } from "./packed-specs.ts";
import { WorkLane } from "./work-lane.ts";

/** An agent's end that reads when the test says so. */
function aLane({ held = [] as { digest: Uint8Array; bytes: number }[], isOld = false } = {}) {
  const sent: MessageInit[] = [];
  const packedSpecs = new PackedSpecs();
  const parts = isOld ? undefined : create(PartsSchema, { heldSpecs: held });
  const clock = new FakeClock();
  const send = (message: MessageInit): void => void sent.push(message);
  const lane = new WorkLane({ send, clock, parts, packedSpecs, reader: "node" });
  let read = 0;
  return {
    lane,
    sent,
    /** Reads the oldest message, and returns marks. False: there is none. */
    read(): boolean {
      const message = sent[read];
      if (message === undefined) return false;
      read += 1;
      if (message.case === "mark") {
        clock.advance(100);
        lane.markReturned(message.value.number ?? 0);
        lane.flush();
      }
      return true;
    },
    readAll(): void {
      while (this.read());
    },
    get told(): string[] {
      return sent.flatMap(describe);
    },
  };
}

function describe(message: MessageInit): string[] {
  if (message.case === "specPart") return [`part of ${message.value.job}`];
  if (message.case !== "work") return [];
  const { starts = [], stops = [], withdrawn = [] } = message.value;
  return [
    ...starts.map(({ job, index }) => `start ${job}.${index}`),
    ...stops.map(({ job, index }) => `stop ${job}.${index}`),
    ...withdrawn.map(({ job, index }) => `withdraw ${job}.${index}`),
  ];
}

const text = (bytes: number, seed = 1): string =>
  Array.from({ length: bytes }, (_, at) => ((at * at * seed) % 9).toString()).join("");
const job = (id: number, scriptBytes = 10): Job =>
  ({ id: jobId(id), spec: aSpec({ script: text(scriptBytes, id) }) }) as Job;
const run = (id: number, index = 0) => ({ jobId: jobId(id), index, attempt: 1 });

const bytesOf = (message: MessageInit): number =>
  message.case === "specPart" ? (message.value.data?.length ?? 0) : 0;

test("a large spec goes in parts, bounded by the window, and its starts follow it", () => {
  const agent = aLane();
  agent.lane.start(run(1), job(1, 500_000));
  agent.lane.flush();
  const under = agent.sent.reduce((sum, message) => sum + bytesOf(message), 0);
  expect(under).toBeLessThanOrEqual(2 * limits.linkWindowBytes);
  expect(agent.told).not.toContain("start 1.0");
  agent.readAll();
  expect(agent.told.at(-1)).toBe("start 1.0");
  const total = agent.sent.reduce((sum, message) => sum + bytesOf(message), 0);
  expect(total).toBeGreaterThan(500_000);
  for (const message of agent.sent) {
    expect(bytesOf(message)).toBeLessThanOrEqual(limits.linkPartBytesMax);
  }
});

test("a small start overtakes a large spec that has begun", () => {
  const agent = aLane();
  agent.lane.start(run(1), job(1, 500_000));
  agent.lane.flush();
  agent.lane.start(run(2), job(2));
  agent.lane.flush();
  agent.readAll();
  expect(agent.told.indexOf("start 2.0")).toBeLessThan(agent.told.indexOf("start 1.0"));
  expect(agent.told.indexOf("start 2.0")).toBeLessThan(40);
});

test("the spec goes once for all tasks of an array, also for those that arrive while it is sent", () => {
  const agent = aLane();
  const array = job(1, 100_000);
  agent.lane.start(run(1, 0), array);
  agent.lane.flush();
  agent.lane.start(run(1, 1), array);
  agent.lane.flush();
  agent.readAll();
  agent.lane.start(run(1, 2), array);
  agent.lane.flush();
  agent.readAll();
  expect(agent.told.slice(-3)).toEqual(["start 1.0", "start 1.1", "start 1.2"]);
  const total = agent.sent.reduce((sum, message) => sum + bytesOf(message), 0);
  expect(total).toBeLessThan(101_000);
});

test("when all runs of the job have ended, the spec is sent again", () => {
  const agent = aLane();
  agent.lane.start(run(1), job(1, 20_000));
  agent.lane.flush();
  agent.readAll();
  agent.lane.runEnded(run(1));
  const before = agent.sent.length;
  agent.lane.start({ ...run(1), attempt: 2 }, job(1, 20_000));
  agent.lane.flush();
  agent.readAll();
  expect(agent.sent.slice(before).some(({ case: kind }) => kind === "specPart")).toBe(true);
});

test("only the rest of a spec is sent when the agent holds its beginning", () => {
  const first = aLane();
  first.lane.start(run(1), job(1, 200_000));
  first.lane.flush();
  for (let messages = 0; messages < 8; messages++) first.read();
  const arrived = first.sent.slice(0, 8).reduce((sum, message) => sum + bytesOf(message), 0);
  const part = first.sent.find((message) => message.case === "specPart");
  const digest = (part?.case === "specPart" && part.value.digest) || new Uint8Array();
  first.lane.close();
  const second = aLane({ held: [{ digest, bytes: arrived }] });
  second.lane.start(run(1), job(1, 200_000));
  second.lane.flush();
  second.readAll();
  const rest = second.sent.reduce((sum, message) => sum + bytesOf(message), 0);
  const size = part?.case === "specPart" ? (part.value.size ?? 0) : 0;
  expect(arrived + rest).toBe(size);
  expect(second.told.at(-1)).toBe("start 1.0");
});

test("a stop overtakes everything, and removes starts that were not sent", () => {
  const agent = aLane();
  agent.lane.start(run(1), job(1, 500_000));
  agent.lane.start(run(2), job(2));
  agent.lane.flush();
  agent.lane.stop(run(1));
  agent.lane.stop(run(2));
  agent.lane.stop(run(3));
  agent.lane.flush();
  agent.readAll();
  expect(agent.told).toContain("withdraw 1.0");
  expect(agent.told.filter((line) => line.startsWith("st"))).toEqual([
    "start 2.0",
    "stop 2.0",
    "stop 3.0",
  ]);
  agent.lane.runEnded(run(1)); // it was never counted
  agent.lane.start(run(2, 1), job(2));
  agent.lane.flush();
  const last = agent.sent.findLast(({ case: kind }) => kind === "work");
  expect(last?.case === "work" && last.value.specs?.length).toBe(0);
});

test("an older agent gets everything at once and unsplit, starts before stops", () => {
  const agent = aLane({ isOld: true });
  agent.lane.start(run(1), job(1, 500_000));
  agent.lane.start(run(2), job(2));
  agent.lane.stop(run(1));
  agent.lane.flush();
  expect(agent.told).toEqual(["start 1.0", "start 2.0", "stop 1.0"]);
  expect(agent.sent.some(({ case: kind }) => kind === "mark" || kind === "specPart")).toBe(false);
});

test("many large specs are packed within limits; others wait until one has finished", () => {
  const packedSpecs = new PackedSpecs(50_000, 10_000);
  const kind = { reader: "node", encoding: undefined } as const;
  let woken = 0;
  const onRoom = (): void => void (woken += 1);
  const taken = Array.from({ length: 10 }, (_, at) =>
    packedSpecs.take(job(at + 1, 20_000), kind, onRoom),
  );
  expect(taken.filter((spec) => spec !== undefined).length).toBe(3);
  packedSpecs.release(job(1, 20_000), kind);
  expect(woken).toBe(1);
  expect(packedSpecs.take(job(4, 20_000), kind, onRoom)).toBeDefined();
  expect(packedSpecs.take(job(4, 20_000), kind, onRoom)).toBe(
    packedSpecs.take(job(4, 20_000), kind, onRoom),
  );
});
