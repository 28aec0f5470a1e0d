import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ServerConnection } from "./http2/transport.ts";
import { Keepalive } from "./keepalive.ts";

class FakeConnection {
  destroyed = false;
  pings = 0;
  answers = true;
  readonly socket = { bytesRead: 24 };

  ping(answered: () => void): void {
    this.pings += 1;
    if (!this.answers) return;
    this.socket.bytesRead += 17;
    answered();
  }

  destroy(): void {
    this.destroyed = true;
    keepalive.forget(asConnection(this));
  }
}

const asConnection = (fake: FakeConnection) => fake as unknown as ServerConnection;

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function watched(): FakeConnection {
  const connection = new FakeConnection();
  keepalive.watch(asConnection(connection));
  return connection;
}

let keepalive: Keepalive;
beforeEach(() => {
  keepalive = new Keepalive({ intervalMs: 30_000, timeoutMs: 10_000 });
});
afterEach(() => keepalive.stop());

test("a connection that sends something within the interval is never pinged", () => {
  const busy = watched();
  for (let turn = 0; turn < 30; turn++) {
    busy.socket.bytesRead += 1;
    vi.advanceTimersByTime(20_000);
  }
  expect(busy.pings).toBe(0);
  expect(busy.destroyed).toBe(false);
});

test("a quiet connection is pinged once an interval and stays when it answers", () => {
  const quiet = watched();
  vi.advanceTimersByTime(400_000);
  expect(quiet.pings).toBe(10); // each check is a third of the interval after the one before
  expect(quiet.destroyed).toBe(false);
});

test("a connection that does not answer is destroyed", () => {
  const gone = watched();
  gone.answers = false;
  vi.advanceTimersByTime(39_999);
  expect(gone.pings).toBe(0);
  vi.advanceTimersByTime(10_000);
  expect({ pings: gone.pings, destroyed: gone.destroyed }).toEqual({ pings: 1, destroyed: false });
  vi.advanceTimersByTime(1);
  expect(gone.destroyed).toBe(true);
});

test("a connection that sends something before its answer is alive", () => {
  const thin = watched();
  thin.answers = false;
  for (let turn = 0; turn < 3; turn++) {
    while (thin.pings === turn) vi.advanceTimersByTime(1_000);
    thin.socket.bytesRead += 1_400;
  }
  expect(thin.destroyed).toBe(false);
  vi.advanceTimersByTime(60_000);
  expect(thin.destroyed).toBe(true);
});

test("a closed connection is not checked again", () => {
  const closed = watched();
  keepalive.forget(asConnection(closed));
  vi.advanceTimersByTime(300_000);
  expect(closed.pings).toBe(0);
});
