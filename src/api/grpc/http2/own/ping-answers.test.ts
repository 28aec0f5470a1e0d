import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { limits } from "../../../../limits.ts";
import { PingAnswers } from "./ping-answers.ts";

const { http2PingAnswersMs, http2PingsHeldMax } = limits;

describe("answers to pings", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  function open() {
    const sent: number[] = [];
    const answers = new PingAnswers(
      (payload) => sent.push(payload.readUInt8()),
      () => Date.now(),
    );
    const ping = (...numbers: number[]): void => {
      for (const number of numbers) answers.answer(Buffer.alloc(8, number));
    };
    return { sent, ping, answers };
  }

  test("the first ping, and one after a pause, are answered at once", () => {
    const { sent, ping } = open();
    ping(1);
    expect(sent).toEqual([1]);
    vi.advanceTimersByTime(http2PingAnswersMs);
    ping(2);
    expect(sent).toEqual([1, 2]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("pings soon after an answer are answered together, in their order", () => {
    const { sent, ping } = open();
    ping(1);
    vi.advanceTimersByTime(http2PingAnswersMs - 1);
    ping(2, 3);
    expect(sent).toEqual([1]);
    vi.advanceTimersByTime(1);
    expect(sent).toEqual([1, 2, 3]);
    ping(4);
    expect(sent).toEqual([1, 2, 3]);
    vi.advanceTimersByTime(http2PingAnswersMs);
    expect(sent).toEqual([1, 2, 3, 4]);
  });

  test("many pings do not wait: they would use memory", () => {
    const { sent, ping } = open();
    const numbers = Array.from({ length: http2PingsHeldMax + 1 }, (_, index) => index);
    ping(...numbers);
    expect(sent).toEqual(numbers);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a payload that waits is not changed by later input", () => {
    const { sent, answers } = open();
    const input = Buffer.alloc(8, 1);
    answers.answer(input);
    answers.answer(input.fill(2));
    input.fill(9);
    vi.advanceTimersByTime(http2PingAnswersMs);
    expect(sent).toEqual([1, 2]);
  });

  test("a lost connection answers nothing, and leaves no timer", () => {
    const { sent, ping, answers } = open();
    ping(1, 2);
    answers.close();
    vi.advanceTimersByTime(2 * http2PingAnswersMs);
    expect(sent).toEqual([1]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
