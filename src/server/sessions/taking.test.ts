import { expect, test } from "vitest";

import { Taking } from "./taking.ts";

const room = (tasks: number) => ({ tasks, free: {} });

test("an agent accepts as much as it reported, and nothing before its first report", () => {
  const taking = new Taking();
  expect(taking.begin()).toBeUndefined();
  taking.offer({ seen: 0, room: room(0) });
  expect(taking.begin()).toBeUndefined();
  const offer = { seen: 0, room: room(2) };
  taking.offer(offer);
  expect(taking.begin()).toBe(offer);
});

test("a report made before the last starts arrived does not count", () => {
  const taking = new Taking();
  taking.given(3);
  taking.offer({ seen: 2, room: room(5) });
  expect(taking.begin()).toBeUndefined();
  taking.offer({ seen: 3, room: room(5) });
  expect(taking.begin()).toBeDefined();
});

test("after a round the remaining capacity counts, with the starts of that round", () => {
  const taking = new Taking();
  const offer = { seen: 0, room: room(5) };
  taking.offer(offer);
  taking.begin();
  expect(taking.end(offer, 2, room(3))).toBe(true);
  expect(taking.begin()).toEqual({ seen: 2, room: room(3) });
});

test("one round at a time; after an empty round another one follows only on request", () => {
  const taking = new Taking();
  const offer = { seen: 0, room: room(5) };
  taking.offer(offer);
  taking.begin();
  expect(taking.end(offer, 0, room(5))).toBe(false);
  const next = taking.begin();
  expect(next).toBeDefined();
  expect(taking.begin()).toBeUndefined(); // something was offered to the cluster meanwhile
  expect(next && taking.end(next, 0, room(5))).toBe(true);
  expect(taking.begin()).toBeDefined();
});

test("the end of a round does not overwrite a report made during it", () => {
  const taking = new Taking();
  const offer = { seen: 0, room: room(1) };
  taking.offer(offer);
  taking.begin();
  const newer = { seen: 1, room: room(7) };
  taking.offer(newer);
  expect(taking.end(offer, 1, room(0))).toBe(true);
  expect(taking.begin()).toBe(newer);
});

test("after a failed round another can begin", () => {
  const taking = new Taking();
  taking.offer({ seen: 0, room: room(1) });
  taking.begin();
  taking.fail();
  expect(taking.begin()).toBeDefined();
});
