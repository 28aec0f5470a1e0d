import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { jobId, nodeId } from "../../core/model/ids.ts";
import { OutputChunkSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { ENCODINGS, pack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import type { MessageInit } from "./agent-session.ts";
import { OutputReads } from "./output-reads.ts";

function aNode({ takesCancels = true } = {}) {
  const clock = new FakeClock();
  const sent: MessageInit[] = [];
  const send = (message: MessageInit): void => void sent.push(message);
  const reads = new OutputReads({ nodeId: nodeId("w1"), clock, send, takesCancels });
  const read = (signal = new AbortController().signal) => {
    const run = { jobId: jobId(1), index: 0, attempt: 1 };
    const range = { run, stream: "stdout", offset: 0, waitMs: 0, bytesMax: 1_000 } as const;
    const chunks = reads.read(range, signal);
    const texts: string[] = [];
    const done = (async () => {
      for await (const { data } of chunks) texts.push(Buffer.from(data).toString());
    })();
    done.catch(() => undefined); // the test awaits it later
    return { chunks, texts, done };
  };
  const answer = (request: number, text: string, more = false): void =>
    reads.arrived(create(OutputChunkSchema, { request, data: Buffer.from(text), more }));
  return { clock, sent, reads, read, answer };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the parts of an answer come as they arrive, packed or not, until the last", async () => {
  const { reads, read, answer, clock } = aNode();
  const { texts, done } = read();
  answer(1, "a", true);
  await settle();
  expect(texts).toEqual(["a"]);
  const [encoding = "gzip"] = ENCODINGS;
  const data = pack(encoding, Buffer.from("b"));
  reads.arrived(create(OutputChunkSchema, { request: 1, data, encoding, more: true }));
  answer(1, "c");
  await done;
  expect(texts).toEqual(["a", "b", "c"]);
  expect(clock.timers).toBe(0);
});

test("rejects a part that unpacks to more than the request, or to nothing", () => {
  const { reads, read } = aNode();
  read();
  const [encoding = "gzip"] = ENCODINGS;
  const bomb = pack(encoding, Buffer.alloc(2 * limits.outputChunkBytesMax));
  const chunk = { request: 1, encoding, data: bomb };
  expect(() => reads.arrived(create(OutputChunkSchema, chunk))).toThrow();
  const nonsense = { request: 1, encoding: "lzma", data: bomb };
  expect(() => reads.arrived(create(OutputChunkSchema, nonsense))).toThrow("not known");
});

test("the limit counts progress: a reader waits while others are served, but not for ever", async () => {
  const { clock, read, answer } = aNode();
  const [served, waiting] = [read(), read()];
  const [stepMs, steps] = [limits.outputWaitMsMax / 2, 10];
  for (let step = 0; step < steps; step++) {
    answer(1, "x", true);
    clock.advance(stepMs);
    await settle();
  }
  answer(2, "y");
  await waiting.done;
  expect([served.texts.length, waiting.texts]).toEqual([steps, ["y"]]);
  const late = read();
  for (let atMs = 0; atMs <= limits.outputTurnMsMax + limits.outputWaitMsMax; atMs += stepMs) {
    answer(1, "x", true);
    clock.advance(stepMs);
    await settle();
  }
  await expect(late.done).rejects.toThrow("in time");
});

test("gives up a node that sends nothing after the limit", async () => {
  const { clock, read } = aNode();
  const { done } = read();
  clock.advance(limits.outputWaitMsMax);
  await expect(done).rejects.toThrow("did not send the output in time");
});

for (const takesCancels of [true, false]) {
  test(`a reader that goes away ${takesCancels ? "cancels" : "leaves"} its request`, async () => {
    const { sent, read, clock } = aNode({ takesCancels });
    const ended = new AbortController();
    const { done } = read(ended.signal);
    await settle();
    ended.abort();
    await done;
    const cancels = sent.filter(({ case: kind, value }) => kind === "output" && value.isCancelled);
    expect({ cancels: cancels.length, timers: clock.timers }).toEqual({
      cancels: takesCancels ? 1 : 0,
      timers: 0,
    });
  });
}

test("the end of the session ends all readers with its reason", async () => {
  const { reads, read } = aNode();
  const [one, two] = [read(), read()];
  await settle();
  reads.close(new AppError("unavailable", "node w1 is gone"));
  await expect(one.done).rejects.toThrow("node w1 is gone");
  await expect(two.done).rejects.toThrow("node w1 is gone");
});
