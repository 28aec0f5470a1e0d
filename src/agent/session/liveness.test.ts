import { afterEach, beforeEach, expect, test } from "vitest";
import { silenceMsMax } from "../../core/model/node/heartbeat.ts";
import { limits } from "../../limits.ts";
import { Liveness } from "./liveness.ts";
import { FakeClock } from "../../testing/fake-clock.ts";

const INTERVAL = 5_000;

let clock: FakeClock;
let liveness: Liveness;
let beats = 0;
let silences = 0;
let bytes = 0;

beforeEach(() => {
  [beats, silences, bytes] = [0, 0, 0];
  clock = new FakeClock();
  liveness = new Liveness(clock, {
    beat: () => {
      beats += 1;
      liveness.sent();
    },
    silent: () => (silences += 1),
    bytesReceived: () => bytes,
  });
  liveness.sent();
  liveness.setInterval(INTERVAL);
});
afterEach(() => {
  liveness.stop();
  expect(clock.timers).toBe(0);
});

const cases = [
  { name: "sends and hears", sends: true, hears: true, beats: 0, silences: 0 },
  { name: "only sends", sends: true, hears: false, beats: 12, silences: 1 },
  { name: "only hears", sends: false, hears: true, beats: 12, silences: 0 },
  { name: "does neither", sends: false, hears: false, beats: 12, silences: 1 },
];
for (const { name, sends, hears, ...want } of cases) {
  test(`a link that ${name}: ${want.beats} heartbeats, given up ${want.silences} times`, async () => {
    for (let atMs = 0; atMs < 60_000; atMs += 1_000) {
      if (sends) liveness.sent();
      if (hears) liveness.heard();
      await clock.pass(1_000);
    }
    expect({ beats, silences }).toEqual({ beats: want.beats, silences: want.silences });
  });
}

test("the heartbeat comes one interval after the last message, not after the last check", async () => {
  await clock.pass(INTERVAL - 1);
  liveness.sent();
  liveness.heard();
  await clock.pass(INTERVAL - 1);
  expect(beats).toBe(0);
  await clock.pass(1);
  expect(beats).toBe(1);
});

test("bytes of an incomplete message keep the link, and when they stop it is given up", async () => {
  for (let atMs = 0; atMs < 10 * silenceMsMax(INTERVAL); atMs += 1_000) {
    bytes += 1;
    await clock.pass(1_000);
  }
  expect(silences).toBe(0);
  await clock.pass(silenceMsMax(INTERVAL) + INTERVAL + limits.silenceConfirmMs);
  expect(silences).toBe(1);
});

test("bytes of messages that were read give no more time", async () => {
  bytes = 100;
  liveness.heard();
  await clock.pass(silenceMsMax(INTERVAL) + limits.silenceConfirmMs);
  expect(silences).toBe(1);
});

test("the longest silence follows the interval", async () => {
  liveness.setInterval(2 * INTERVAL);
  await clock.pass(silenceMsMax(2 * INTERVAL) - 1);
  expect(silences).toBe(0);
  await clock.pass(1 + limits.silenceConfirmMs);
  expect(silences).toBe(1);
});

test("messages that arrived while the agent itself did not run keep the link", async () => {
  await clock.pass(silenceMsMax(INTERVAL)); // timers fire first when it runs again
  liveness.heard(); // then it reads messages
  await clock.pass(limits.silenceConfirmMs);
  expect(silences).toBe(0);
});
