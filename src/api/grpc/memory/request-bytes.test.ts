import { expect, test, vi } from "vitest";
import type { AppError } from "../../../lib/errors.ts";
import { RequestBytes, type RequestBytesLimits } from "./request-bytes.ts";

const LIMITS: Partial<RequestBytesLimits> = {
  smallBytes: 10,
  smallTotalMax: 100,
  smallPerConnectionMax: 60,
  largeTotalMax: 1_000,
  largePerConnectionMax: 600,
  openRequestBytes: 5,
  waitingMax: 3,
  receiveMsMax: 60_000,
  stallMs: 2_000,
  progressBytesMin: 50,
};

function aBudget(changes: Partial<RequestBytesLimits> = {}) {
  let nowMs = 0;
  const bytes = new RequestBytes({ ...LIMITS, ...changes }, () => nowMs);
  const connect = () => {
    const here = { small: 0, large: 0 };
    const open = () => {
      const log: string[] = [];
      const hold = bytes.open(here, {
        resume: () => log.push("resume"),
        drop: (error: AppError) => log.push(`${error.code}: ${error.message}`),
      });
      hold.begin();
      return { hold, log };
    };
    return { here, open };
  };
  const pass = (ms: number): void => {
    nowMs += ms;
    bytes.sweep();
  };
  return { bytes, connect, pass };
}

const NOTHING = { small: 0, large: 0, waiting: 0, open: 0 };

test("a large message reserves its announced size once it is no longer small", () => {
  const { bytes, connect } = aBudget();
  const { hold } = connect().open();
  expect(hold.arrived(10, 500)).toBe(true);
  expect(bytes.counts).toMatchObject({ small: 15, large: 0 });
  expect(hold.arrived(1, 500)).toBe(true);
  expect(bytes.counts).toMatchObject({ small: 15, large: 500 });
  hold.complete();
  expect(bytes.counts).toMatchObject({ small: 10, large: 500, open: 0 });
  hold.end();
  hold.end();
  expect(bytes.counts).toMatchObject({ ...NOTHING, released: 500 });
});

test("without memory it waits, and the connection that holds least continues first", () => {
  const { bytes, connect } = aBudget();
  const [greedy, other, late] = [connect(), connect(), connect()];
  const held = [greedy.open(), other.open()];
  for (const { hold } of held) expect(hold.arrived(20, 500)).toBe(true);
  const second = greedy.open();
  const first = late.open();
  expect(second.hold.arrived(20, 90)).toBe(false);
  expect(first.hold.arrived(20, 90)).toBe(false);
  expect(bytes.counts).toMatchObject({ large: 1_000, waiting: 2 });
  other.open().hold.end();
  expect(first.log).toEqual([]);
  held[1]?.hold.end();
  expect([first.log, second.log]).toEqual([["resume"], ["resume"]]);
  expect(bytes.counts).toMatchObject({ large: 680, waiting: 0 });
});

test("a small message never waits behind large ones, and one connection cannot occupy all", () => {
  const { connect } = aBudget();
  const greedy = connect();
  expect(greedy.open().hold.arrived(20, 500)).toBe(true);
  expect(greedy.open().hold.arrived(20, 200)).toBe(false);
  expect(connect().open().hold.arrived(10, 10)).toBe(true);
  expect(connect().open().hold.arrived(20, 400)).toBe(true);
  greedy.open().hold.arrived(10, 10);
  expect(() => greedy.open().hold.arrived(10, 10)).not.toThrow();
  expect(() => greedy.open().hold.arrived(10, 10)).toThrow(/this connection has 60 bytes/);
});

test("while others wait, a large message without progress is dropped", () => {
  const { bytes, connect, pass } = aBudget();
  const [idle, busy, next] = [connect().open(), connect().open(), connect().open()];
  for (const { hold } of [idle, busy]) hold.arrived(20, 500);
  pass(10_000);
  expect(idle.log).toEqual([]); // no other request needs its memory
  expect(next.hold.arrived(20, 500)).toBe(false);
  busy.hold.arrived(100, 500);
  pass(2_000);
  expect(idle.log).toEqual([expect.stringMatching(/^exhausted: the request made no progress/)]);
  expect([busy.log, next.log]).toEqual([[], ["resume"]]);
  expect(bytes.counts).toMatchObject({ large: 1_000, waiting: 0, dropped: 1 });
});

test("a full reserve drops the request without progress for longest", () => {
  const { bytes, connect } = aBudget();
  const trickling = [connect(), connect(), connect(), connect(), connect(), connect()].map(
    (each) => {
      const request = each.open();
      request.hold.arrived(8, 9);
      return request;
    },
  );
  trickling[0]?.hold.arrived(1, 10);
  expect(bytes.counts).toMatchObject({ small: 79, open: 6 });
  const first = connect().open();
  const second = connect().open();
  first.hold.arrived(10, 10);
  second.hold.arrived(10, 10);
  const dropped = trickling.map(({ log }) => log.length);
  expect(dropped).toEqual([0, 1, 0, 0, 0, 0]);
  expect([first.log, second.log]).toEqual([[], []]);
  expect(bytes.counts.small).toBeLessThanOrEqual(100);
});

test("requests that are being answered are not dropped: then new ones are rejected", () => {
  const { connect } = aBudget({ smallTotalMax: 44 });
  for (let at = 0; at < 3; at++) {
    const { hold } = connect().open();
    hold.arrived(10, 10);
    hold.complete();
  }
  expect(() => connect().open().hold.arrived(10, 10)).toThrow(
    /the server has 44 bytes of incomplete requests/,
  );
});

test("a request that does not arrive in time is dropped, also while it waits", () => {
  const { bytes, connect, pass } = aBudget();
  const slow = connect().open();
  slow.hold.arrived(3, 10);
  pass(59_000);
  expect(slow.log).toEqual([]);
  pass(1_001);
  expect(slow.log).toEqual(["exhausted: the request did not arrive within 60 s"]);
  expect(bytes.counts).toMatchObject(NOTHING);
});

test("the number of waiting requests is bounded", () => {
  const { bytes, connect } = aBudget();
  for (let at = 0; at < 2; at++) connect().open().hold.arrived(20, 500);
  for (let at = 0; at < 3; at++) connect().open().hold.arrived(20, 500);
  expect(() => connect().open().hold.arrived(20, 500)).toThrow(/and 3 more requests wait/);
  expect(bytes.counts.waiting).toBe(3);
});

test("the server looks for late requests as long as one is open, and one timer does for all of them", () => {
  vi.useFakeTimers();
  try {
    const bytes = new RequestBytes(LIMITS, () => Date.now());
    const dropped: string[] = [];
    const open = () => {
      const owner = {
        resume: () => undefined,
        drop: ({ message }: AppError) => dropped.push(message),
      };
      const hold = bytes.open({ small: 0, large: 0 }, owner);
      hold.begin();
      return hold;
    };
    for (let count = 0; count < 3; count++) open().end();
    expect(vi.getTimerCount()).toBe(1);
    open();
    vi.advanceTimersByTime(59_000);
    expect([vi.getTimerCount(), dropped]).toEqual([1, []]);
    vi.advanceTimersByTime(3_000);
    expect([vi.getTimerCount(), dropped]).toEqual([0, ["the request did not arrive within 60 s"]]);
    open();
    expect(vi.getTimerCount()).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});
