import { create, type MessageInitShape } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { JobSchema, State, TaskSchema } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { newsOfShare } from "./share-news.ts";

type JobInit = MessageInitShape<typeof JobSchema>;
const newsOf = (job: JobInit, isStopped = false) =>
  newsOfShare(create(JobSchema, job), 400, { site: "site-a", isStopped });
const done = (wattSeconds: number): JobInit => ({
  energy: { wattSeconds: 400n, doneWattSeconds: BigInt(wattSeconds) },
});
const began = { startedAtMs: 5n };
const ended = { ...began, endedAtMs: 9n };

test.each([
  ["waits", { state: State.PENDING }, { kind: "queued" }],
  ["has no share that began", { state: State.RUNNING }, { kind: "queued" }],
  [
    "goes on",
    { ...began, ...done(100), state: State.RUNNING },
    { kind: "running", startedAtMs: 5, progress: { percent: 25 } },
  ],
  [
    "succeeded",
    { ...ended, ...done(400), state: State.SUCCEEDED },
    { end: { kind: "exited", exitCode: 0 }, progress: { percent: 100 } },
  ],
  [
    "failed otherwise: its retries above count",
    { ...ended, state: State.FAILED, reason: "too many shares failed" },
    { end: { kind: "signalled", message: "failed at site site-a: too many shares failed" } },
  ],
  [
    "was cancelled below",
    { ...ended, state: State.CANCELLED, reason: "not here" },
    { end: { kind: "signalled", message: "cancelled at site site-a: not here" } },
  ],
] as const)("a job below that %s", (_, job, want) => {
  expect(newsOf(job)).toMatchObject(want);
});

test("a failed job below ends as a share that failed by its own fault", () => {
  const failed = [{ failure: "lost" }, { failure: "exited", exitCode: 7 }].map((task) =>
    create(TaskSchema, { state: State.FAILED, ...ended, ...task }),
  );
  const job = create(JobSchema, { ...ended, ...done(100), state: State.FAILED, exitCode: 1 });
  const terms = { site: "site-a", isStopped: false };
  const news = newsOfShare(job, 400, terms, failed);
  expect(news).toMatchObject({ end: { kind: "exited", exitCode: 7 } });
});

test("a job that was stopped from above reports its progress", () => {
  const news = newsOf({ ...ended, ...done(133), state: State.CANCELLED }, true);
  expect(news).toMatchObject({ end: { kind: "stopped" }, progress: { percent: 33.25 } });
});

test("no more energy counts above than was done below, and at most a ten-thousandth of the share less", () => {
  const share = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
  fc.assert(
    fc.property(share, fc.double({ min: 0, max: 1, noNaN: true }), (all, part) => {
      const used = Math.floor(all * part);
      const energy = { wattSeconds: BigInt(all), doneWattSeconds: BigInt(used) };
      const job = create(JobSchema, { ...began, state: State.RUNNING, energy });
      const news = newsOfShare(job, all, { site: "a", isStopped: false });
      const percent = news.kind === "running" ? (news.progress?.percent ?? 0) : Number.NaN;
      const hundredths = BigInt(Math.round(percent * 100));
      const counted = BigInt(all) * hundredths;
      expect(counted <= BigInt(used) * 10_000n).toBe(true);
      expect(counted + BigInt(all) > BigInt(used) * 10_000n).toBe(true);
    }),
  );
});
