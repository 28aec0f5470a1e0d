import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aSpec } from "../../../../testing/builders.ts";
import { limits } from "../../../../limits.ts";
import { jobId } from "../../../model/ids.ts";
import type { Job } from "../../../model/job/job.ts";
import type { JobSpecInput } from "../../../model/job/job-spec.ts";
import { decodeJob, encodeJob } from "../job-codec.ts";
import { JobReader } from "./job-reader.ts";

const aJob = (id: number, spec: Partial<JobSpecInput> = {}, more: Partial<Job> = {}): Job => ({
  id: jobId(id),
  spec: aSpec(spec),
  submittedAtMs: 1_000 + id,
  submittedBy: "me",
  idempotencyKey: undefined,
  closed: undefined,
  waitsFor: undefined,
  ...more,
});

/** Texts that could be taken for the end of a name, for the rest of a row, or for its id. */
const NASTY = ["a", "b", 'a"b', "a\\", "\n", "😀", '","work":', '},"id":7,"submittedAtMs":5,', ""];

const specs = fc.record(
  {
    name: fc.constantFrom(...NASTY.filter((name) => name !== "" && name !== "\n"), "x".repeat(30)),
    labels: fc.dictionary(fc.constantFrom("name", "id", "team"), fc.constantFrom("a", "b")),
    command: fc.array(fc.constantFrom(...NASTY), { maxLength: 2 }).map((args) => ["do", ...args]),
    priority: fc.constantFrom(0, 7),
    cwd: fc.constantFrom("/a", '/},"id":3'),
  },
  { requiredKeys: ["name"] },
);

const decisions = fc.record(
  {
    submittedBy: fc.constantFrom("me", "us", "you", 'a","submittedAtMs":9,"x":"'),
    submittedAtMs: fc.constantFrom(5, 1_795_023_509_745),
    idempotencyKey: fc.constantFrom("key", undefined),
    closed: fc.constantFrom(undefined, {
      kind: "cancelled" as const,
      atMs: 3,
      by: "me",
      reason: "",
    }),
  },
  { requiredKeys: [] },
);

/** As another version could write it. */
function reordered(job: Job): string {
  const { id, submittedAtMs, ...rest } = JSON.parse(encodeJob(job)) as Job;
  return JSON.stringify({ ...rest, submittedAtMs, id });
}

describe("a reader of jobs", () => {
  test("reads any sequence of rows as if each was parsed", () => {
    const job = fc
      .tuple(fc.nat(99_999), specs, decisions)
      .map(([id, spec, more]) => aJob(id + 1, spec, more));
    const withEnergy = fc
      .tuple(fc.nat(99), fc.constantFrom(5, 7))
      .map(([id, wattSeconds]) => aJob(id + 1, { energy: { wattSeconds } }));
    const texts = fc.oneof(job.map(encodeJob), withEnergy.map(encodeJob), job.map(reordered));
    fc.assert(
      fc.property(fc.array(texts, { maxLength: 30 }), (rows) => {
        const reader = new JobReader();
        for (const text of [...rows, ...rows]) expect(reader.read(text)).toEqual(decodeJob(text));
      }),
      { numRuns: 300 },
    );
  });

  const base = { labels: { team: "blue" }, command: ["sleep", "1"] };
  test.each([
    { what: "a label", job: aJob(2, { ...base, labels: { team: "pink" } }) },
    { what: "an argument", job: aJob(2, { ...base, command: ["sleep", "2"] }) },
    { what: "the submitter", job: aJob(2, base, { submittedBy: "us" }) },
    { what: "the name, with escapes,", job: aJob(2, { ...base, name: 'a"\\b' }) },
  ])("notices that $what differs in a row of the same length", ({ job }) => {
    const reader = new JobReader();
    reader.read(encodeJob(aJob(1, base)));
    expect(reader.read(encodeJob(job))).toEqual(decodeJob(encodeJob(job)));
  });

  test("parses one of the rows that differ by name, id and time, and shares its terms and work", () => {
    const reader = new JobReader();
    const spec = { labels: { team: "blue" }, command: ["sleep", "1"] };
    const jobs = Array.from({ length: 1_000 }, (_, at) =>
      reader.read(encodeJob(aJob(at + 1, { ...spec, name: `job-${at}` }))),
    );
    expect(reader.parsed).toBe(1);
    expect(jobs.map(({ spec: { name } }) => name).slice(998)).toEqual(["job-998", "job-999"]);
    expect(new Set(jobs.map(({ spec: { terms } }) => terms)).size).toBe(1);
    expect(new Set(jobs.map(({ spec: { work } }) => work)).size).toBe(1);
  });

  test("parses one row of each kind when kinds alternate", () => {
    const reader = new JobReader();
    for (let id = 1; id <= 100; id++) {
      const kind = id % 5;
      reader.read(encodeJob(aJob(id, { labels: { kind: `${kind}` }, command: [`${kind}`] })));
    }
    expect(reader.parsed).toBe(5);
  });

  test("parses rows that have the key name before the job's name, that are long, or that have a decision", () => {
    const reader = new JobReader();
    const long = "x".repeat(limits.sharedSpecCharsMax);
    const closed = { kind: "cancelled", atMs: 3, by: "me", reason: "" } as const;
    const rows = [
      aJob(1, { labels: { name: "a" } }),
      aJob(2, { labels: { name: "a" } }),
      aJob(3, { command: [long] }),
      aJob(4, { command: [long] }),
      aJob(5, {}, { closed }),
      aJob(6, {}, { closed }),
    ];
    for (const row of rows) reader.read(encodeJob(row));
    expect(reader.parsed).toBe(rows.length);
  });
});
