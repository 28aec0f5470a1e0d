import { type ClientUnaryCall, Metadata } from "@grpc/grpc-js";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Store } from "../../ports/store.ts";
import { createMemoryStore } from "../../store/memory/memory-store.ts";
import { eventually } from "../../testing/eventually.ts";
import { QuickHasher } from "../../testing/quick-hasher.ts";
import { frameMessage } from "../../lib/grpc/frames.ts";
import { HTTP2 } from "../../lib/http2/error-codes.ts";
import { FLAG, FRAME } from "../../lib/http2/frames.ts";
import {
  frame,
  RawClient,
  request as requestOf,
  START,
  uint32,
} from "../grpc/http2/testing/raw-client.ts";
import { call, pathOf } from "../grpc/testing/grpc-client.ts";
import { graphOf, RainbowBed, REGISTER_SECRET, scheduler, simple } from "./testing/rainbow-bed.ts";

/** A slow disk: commits wait until the test releases them. */
class SlowDisk {
  readonly store: Store;
  #held: Promise<void> = Promise.resolve();
  #release = (): void => undefined;

  constructor() {
    const inner = createMemoryStore();
    const commit: Store["commit"] = async (batch) => {
      await this.#held;
      await inner.commit(batch);
    };
    this.store = { ...inner, commit };
  }

  hold(): void {
    this.#held = new Promise((resolve) => (this.#release = resolve));
  }

  release(): void {
    this.#release();
  }
}

const NAMES = Array.from({ length: 12 }, (_, at) => `c${at}`);
const bed = new RainbowBed();
let disk: SlowDisk;
let hasher: QuickHasher;

beforeEach(async () => {
  disk = new SlowDisk();
  hasher = new QuickHasher();
  await bed.open({ store: disk.store, hasher });
});
afterEach(async () => {
  disk.release();
  await bed.close();
});

const isThere = (name: string): boolean =>
  bed.plane.state.clusters.get(name as never) !== undefined;

/** A registration whose client stops waiting for the answer when the test calls `leave`. */
function registerAndLeave(name: string): { leave(): Promise<unknown> } {
  const request = create(scheduler.register.input, {
    name,
    secret: REGISTER_SECRET,
    nodes: graphOf(2),
  });
  let sent!: ClientUnaryCall;
  const over = new Promise((resolve) => {
    const bytes = Buffer.from(toBinary(scheduler.register.input, request));
    const same = (them: Buffer): Buffer => them;
    sent = bed.client.makeUnaryRequest<Buffer, Buffer>(
      pathOf(scheduler.register),
      same,
      same,
      bytes,
      new Metadata(),
      { deadline: Date.now() + 20_000 },
      (error) => resolve(error),
    );
  });
  return {
    leave() {
      sent.cancel();
      return over;
    },
  };
}

/** Resolves when the server has received all earlier messages of the connection. */
const isHeard = (): Promise<unknown> => call(bed.client, scheduler.serial);

test("a dozen registrations whose clients gave up occupy no name: each is repeated, and its credentials are valid", async () => {
  await bed.register("first"); // the register secret is known from here on
  const slow = hasher.slow;
  disk.hold();
  const waiting = NAMES.map(registerAndLeave);
  await eventually(() => NAMES.every(isThere), { what: "all are registered, and not durable" });
  await Promise.all(waiting.map((each) => each.leave()));
  await isHeard();
  disk.release();
  const answers = await Promise.all(NAMES.map((name) => bed.register(name)));
  expect(answers.map(({ status }) => status)).toEqual(NAMES.map(() => 1));
  expect(new Set(answers.map(({ secret }) => secret)).size).toBe(NAMES.length);
  for (const name of NAMES) {
    expect((await bed.submit(simple(1, 1), [name])).cluster).toBe(name);
    expect(Object.keys((await bed.receive(name)).jobs)).toHaveLength(1);
  }
  expect(hasher.slow).toBe(slow); // a dozen at once would have to queue for nothing here
});

test("a cluster whose client has its credentials exists, also after those of others were lost", async () => {
  disk.hold();
  const lost = registerAndLeave("blue");
  await eventually(() => isThere("blue"), { what: "it is registered, and not durable" });
  await lost.leave();
  await isHeard();
  disk.release();
  expect((await bed.register("blue")).status).toBe(1);
  expect((await bed.register("blue")).status).toBe(4);
  expect((await bed.receive("blue")).status).toBe(0);
});

test("a registration may be repeated when its client gave up while the answer was on its way", async () => {
  const request = { name: "blue", secret: REGISTER_SECRET, nodes: graphOf(2) };
  const message = toBinary(scheduler.register.input, create(scheduler.register.input, request));
  const data = frame(FRAME.DATA, FLAG.END_STREAM, 1, frameMessage(message));
  const client = RawClient.to(bed.address);
  client.send(START, requestOf(1, { ":path": pathOf(scheduler.register) }), data);
  await client.answered(1);
  const repeated = bed.register("blue");
  client.send(frame(FRAME.RST_STREAM, 0, 1, uint32(HTTP2.CANCEL)));
  expect((await repeated).status).toBe(1);
  expect((await bed.register("blue")).status).toBe(4);
  client.socket.destroy();
});

test("of two equal registrations at once one gets credentials", async () => {
  const answers = await Promise.all(NAMES.map(() => bed.register("blue")));
  expect(answers.filter(({ status }) => status === 1)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 4)).toHaveLength(NAMES.length - 1);
});

test("with a global token a registration returns it, and it is valid for every cluster", async () => {
  await bed.plane.operations.setCredentials({ globalToken: "rainbow" });
  expect(await bed.register("blue")).toMatchObject({ status: 1, token: "rainbow" });
  expect((await bed.submit(simple(1, 1), ["blue"])).cluster).toBe("blue");
  await bed.plane.operations.setCredentials({ globalToken: null });
  expect((await bed.register("green")).token).toMatch(/^[0-9a-f-]{36}$/);
  const clusters = [{ name: "green", token: "rainbow" }];
  await expect(call(bed.client, scheduler.submitJob, { clusters })).rejects.toThrow("denied");
});
