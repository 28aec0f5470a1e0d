import { expect, test } from "vitest";
import { JobNumbers } from "./job-numbers.ts";

test("a job is its own number, tasks of arrays count down from the other end", () => {
  const numbers = new JobNumbers(0);
  expect(numbers.numberOf("17")).toBe(17);
  expect(numbers.numberOf("17.3")).toBe(2_147_483_647);
  expect(numbers.numberOf("17.4")).toBe(2_147_483_646);
  expect(numbers.numberOf("17.3")).toBe(2_147_483_647);
  expect(numbers.taskOf(17)).toBe("17");
  expect(numbers.taskOf(2_147_483_646)).toBe("17.4");
});

test("a number that was never assigned has no task", () => {
  const numbers = new JobNumbers(0);
  for (const number of [0, -1, 2_147_483_647, 2 ** 30]) {
    expect(numbers.taskOf(number)).toBeUndefined();
  }
});

test("beyond the limit the oldest number is dropped, and not used again soon", () => {
  const numbers = new JobNumbers(0, 2);
  const first = numbers.numberOf("1.0");
  numbers.numberOf("1.1");
  numbers.numberOf("1.2");
  expect(numbers.taskOf(first)).toBeUndefined();
  expect(numbers.numberOf("1.0")).toBe(first - 3);
});

test("another start counts from another number, and wraps around at the end", () => {
  expect(new JobNumbers(0.5).numberOf("1.0")).toBe(1_610_612_736);
  const last = new JobNumbers(0.999_999_999_9);
  expect(last.numberOf("1.0")).toBe(2 ** 30 + 1);
  expect(last.numberOf("1.1")).toBe(2 ** 30);
  expect(last.numberOf("1.2")).toBe(2_147_483_647);
});
