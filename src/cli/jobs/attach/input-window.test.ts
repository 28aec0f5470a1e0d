import * as fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { InputWindow } from "./input-window.ts";

const WINDOW = limits.attachWindowBytes;
const bytes = (length: number, value = 7): Uint8Array => new Uint8Array(length).fill(value);

/** Takes all that may be sent. */
function drain(window: InputWindow): { readonly to: number; readonly ended: boolean } {
  let to = 0;
  let ended = false;
  for (let part = window.take(); part !== undefined; part = window.take()) {
    to = part.offset + part.data.length;
    ended = part.end;
  }
  return { to, ended };
}

test("no more is sent than the window, however much input there is, and no more is read", () => {
  const window = new InputWindow();
  for (let at = 0; at < 8; at++) window.push(bytes(64 * 1024));
  expect(drain(window)).toEqual({ to: WINDOW, ended: false });
  expect(window.hasRoom).toBe(false);
  window.seen(WINDOW - 1);
  expect(drain(window).to).toBe(2 * WINDOW - 1);
  expect(window.hasRoom).toBe(false);
  window.seen(2 * WINDOW - 1);
  expect(window.hasRoom).toBe(true);
});

test("the end is sent once, with the last byte or by itself, and again on another connection", () => {
  const window = new InputWindow();
  window.push(bytes(3));
  window.end();
  expect(window.take()).toMatchObject({ offset: 0, end: true });
  expect(window.take()).toBeUndefined();
  expect(window.resume(3)).toBe(true);
  expect(window.take()).toMatchObject({ offset: 3, data: new Uint8Array(0), end: true });
  const empty = new InputWindow();
  empty.end();
  expect(empty.take()).toMatchObject({ offset: 0, end: true });
  expect(empty.hasRoom).toBe(false);
});

test("a task that lacks input which is no longer buffered cannot be served", () => {
  const window = new InputWindow();
  window.push(bytes(10));
  drain(window);
  window.seen(4);
  expect(window.resume(3)).toBe(false);
  expect(window.resume(11)).toBe(false);
  expect(window.resume(4)).toBe(true);
  expect(drain(window).to).toBe(10);
});

test("property: whatever is lost and resumed, the task gets every byte once and in order", () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("push" as const), length: fc.integer({ min: 0, max: 90_000 }) }),
    fc.record({ kind: fc.constant("lose" as const), part: fc.integer({ min: 0, max: 10 }) }),
    fc.constant({ kind: "see" as const }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const window = new InputWindow();
      let made = 0;
      let got = 0; // received by the task, in order
      let seen = 0;
      const receive = (partsMax: number): void => {
        for (let count = 0; count < partsMax; count++) {
          const part = window.take();
          if (part === undefined) return;
          expect(part.offset).toBe(got);
          for (const [at, value] of part.data.entries()) {
            if (value !== ((part.offset + at) & 0xff)) expect.fail(`byte ${part.offset + at}`);
          }
          got += part.data.length;
          expect(got - seen).toBeLessThanOrEqual(WINDOW);
        }
      };
      for (const one of steps) {
        if (one.kind === "push" && window.hasRoom) {
          window.push(Uint8Array.from({ length: one.length }, (_, at) => (made + at) & 0xff));
          made += one.length;
        } else if (one.kind === "see") {
          receive(1_000);
          seen = got;
          window.seen(seen);
        } else if (one.kind === "lose") {
          receive(one.part);
          while (window.take() !== undefined); // on its way, and lost
          expect(window.resume(got)).toBe(true);
        }
      }
      window.end();
      for (let rounds = 0; rounds < 100; rounds++) {
        receive(1_000);
        seen = got;
        window.seen(seen);
      }
      expect(got).toBe(made);
    }),
    { numRuns: 60 },
  );
});
