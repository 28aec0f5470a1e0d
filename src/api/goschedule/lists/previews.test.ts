import { expect, test } from "vitest";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { OutputQuery } from "../../../server/operations/operations.ts";
import { settle } from "../../grpc/testing/settle.ts";
import { Previews, type ReadableAttempt } from "./previews.ts";

const attempt = (job: number): ReadableAttempt => ({
  jobId: String(job),
  index: 0,
  attempt: 1,
  taskId: String(job),
});
const bytes = (stdout: string, stderr = "") => ({
  stdout: Buffer.from(stdout),
  stderr: Buffer.from(stderr),
});

/** Outputs that arrive when the test releases them. */
function someOutputs(chunksOf: (query: OutputQuery) => readonly string[]) {
  const asked: string[] = [];
  const gate = Promise.withResolvers<void>();
  async function* readOutputStart(query: OutputQuery) {
    asked.push(`${query.taskId}#${query.attempt} ${query.stream}`);
    await gate.promise;
    for (const chunk of chunksOf(query)) yield { data: Buffer.from(chunk), truncated: false };
  }
  return { readOutputStart, asked, open: gate.resolve };
}

test("an added output is known, truncated as lists show it", () => {
  const previews = new Previews();
  previews.put(attempt(1), bytes("a".repeat(30), "err\n"));
  expect(previews.get(attempt(1))).toEqual({ stdout: "a".repeat(20), stderr: "err" });
  expect(previews.get({ ...attempt(1), attempt: 2 })).toBeUndefined();
  expect(previews.get({ ...attempt(1), index: 1 })).toBeUndefined();
});

test("only the latest are retained", () => {
  const previews = new Previews();
  for (let job = 0; job <= limits.knownPreviewsMax; job++) previews.put(attempt(job), bytes("x"));
  expect(previews.get(attempt(0))).toBeUndefined();
  expect(previews.get(attempt(1))).toBeDefined();
});

test("unknown outputs are read once, a few at a time", async () => {
  const previews = new Previews();
  const clock = new FakeClock();
  const operations = someOutputs(({ stream }) => (stream === "stdout" ? ["he", "llo"] : []));
  previews.put(attempt(0), bytes("known"));
  const wanted = Array.from({ length: 40 }, (_, job) => attempt(job));
  const filling = previews.readSome(wanted, { operations, clock });
  await settle();
  expect(operations.asked).toHaveLength(2 * limits.previewsAtOnceMax);
  operations.open();
  await filling;
  expect(operations.asked).toHaveLength(2 * 39);
  expect(previews.get(attempt(39))).toEqual({ stdout: "hello", stderr: "" });
  await previews.readSome(wanted, { operations, clock });
  expect(operations.asked).toHaveLength(2 * 39);
  expect(clock.timers).toBe(0);
});

test("a list does not wait for late outputs, which the next list has", async () => {
  const previews = new Previews();
  const clock = new FakeClock();
  const operations = someOutputs(() => ["late"]);
  const wanted = Array.from({ length: 20 }, (_, job) => attempt(job));
  const filling = previews.readSome(wanted, { operations, clock });
  await settle();
  clock.advance(limits.previewsMsMax);
  await filling;
  expect(previews.get(attempt(0))).toBeUndefined();
  const again = previews.readSome([attempt(0)], { operations, clock });
  await settle();
  operations.open();
  await again;
  expect(previews.get(attempt(0))).toMatchObject({ stdout: "late" });
  // Those that were being read, and no others.
  expect(operations.asked).toHaveLength(2 * limits.previewsAtOnceMax);
});

test("stuck reads do not accumulate", async () => {
  const previews = new Previews();
  const clock = new FakeClock();
  const operations = someOutputs(() => []);
  for (let list = 0; list < 10; list++) {
    const wanted = Array.from({ length: 16 }, (_, at) => attempt(list * 16 + at));
    const filling = previews.readSome(wanted, { operations, clock });
    await settle();
    clock.advance(limits.previewsMsMax);
    await filling;
  }
  expect(operations.asked).toHaveLength(2 * 4 * limits.previewsAtOnceMax);
  operations.open();
  await settle();
});

test("a removed output is not read again; one that is unavailable now is", async () => {
  const previews = new Previews();
  const clock = new FakeClock();
  const operations = someOutputs(({ taskId }) => {
    throw new AppError(taskId === "1" ? "not_found" : "unavailable", "no");
  });
  operations.open();
  const wanted = [attempt(1), attempt(2)];
  await previews.readSome(wanted, { operations, clock });
  await previews.readSome(wanted, { operations, clock });
  expect(operations.asked.filter((each) => each === "1#1 stdout")).toHaveLength(1);
  expect(operations.asked.filter((each) => each === "2#1 stdout")).toHaveLength(2);
});

test("only the beginning of a long output is read", async () => {
  const previews = new Previews();
  let chunks = 0;
  async function* readOutputStart() {
    for (; chunks < 100; chunks++) yield { data: Buffer.from("0123456789"), truncated: false };
  }
  await previews.readSome([attempt(1)], {
    operations: { readOutputStart },
    clock: new FakeClock(),
  });
  expect(previews.get(attempt(1))?.stdout).toBe("01234567890123456789");
  expect(chunks).toBeLessThan(20);
});
