import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  DependencySchema,
  JobSpecSchema,
  JobSubmissionSchema,
  PlacementSchema,
  RetriesSchema,
  SubmitJobsRequestSchema,
  SubmitJobsResponseSchema,
  SubmittedJobSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import type { SubmissionInput, SubmittedView } from "../../../server/operations/operations.ts";
import { SelectionSchema } from "../../../gen/busbar/v1/cluster_pb.ts";
import { decodeSubmissions } from "./decode-submit.ts";
import { encodeSubmitted } from "./encode-submitted.ts";
import { fromSubmission } from "./translate.ts";
import { message } from "../../grpc/calls/wire-message.ts";
import { runs } from "../../../testing/runs.ts";

// Compares the handwritten codec with the one generated from the proto.

/** Requests for the generated decoder must be rare, or nothing else would be tested. */
const rarely = <T>(usual: fc.Arbitrary<T>, rare: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 40, arbitrary: usual }, { weight: 1, arbitrary: rare });

const word = fc.constantFrom("", "/bin/true", "x".repeat(64), "y".repeat(65));
const some = rarely(
  fc.oneof(fc.string({ unit: "grapheme-ascii" }), word),
  fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("é", "z".repeat(99) + "é", "__proto__"),
  ),
);
const int32 = rarely(fc.nat(), fc.integer());
const safe = fc.bigInt(0n, 2n ** 53n - 1n); // the translation rejects larger ones
const int64 = rarely(safe, fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n));
const texts = fc.dictionary(some, some, { maxKeys: 3 });

/** Any part of a spec: the present fields, in the order of their numbers. */
const specPart = fc.record(
  {
    name: some,
    group: some,
    labels: texts,
    command: fc.array(some, { maxLength: 4 }),
    script: some,
    env: texts,
    cwd: some,
    resources: fc.dictionary(some, fc.double(), { maxKeys: 3 }),
    placement: fc
      .record({ cluster: some, node: some, labels: texts, kind: some }, { requiredKeys: [] })
      .map((part) => create(PlacementSchema, part)),
    array: some,
    priority: int32,
    retries: fc
      .record({ max: int32, backoffMs: safe, backoffMaxMs: safe }, { requiredKeys: [] })
      .map((part) => create(RetriesSchema, part)),
    timeLimitMs: safe,
    killGraceMs: safe,
    queueDeadlineMs: safe,
    outputLimitBytes: int64,
    dependsOn: fc.array(
      fc
        .record(
          {
            kind: some,
            on: fc.array(some, { maxLength: 3 }),
            atLeast: fc.nat(2 ** 32 - 1),
            name: some,
          },
          { requiredKeys: [] },
        )
        .map((part) => create(DependencySchema, part)),
      { maxLength: 3 },
    ),
    request: fc.constantFrom("", "[]", '[[{"type":"core"}]]', "{"),
    select: fc
      .record({ strategy: some, options: fc.constantFrom("", "{}", "[") }, { requiredKeys: [] })
      .map((part) => create(SelectionSchema, part)),
  },
  { requiredKeys: [] },
);

const delimited = (field: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return Buffer.from([...bytes, rest]);
    bytes.push((rest & 0x7f) | 0x80);
  }
}

const specBytes: fc.Arbitrary<Uint8Array> = specPart.map((part) =>
  toBinary(JobSpecSchema, create(JobSpecSchema, part)),
);
/** A field that the proto does not have, with each wire type. */
const unknown: fc.Arbitrary<Uint8Array> = fc.constantFrom(
  delimited(99, Buffer.from("new")),
  Buffer.concat([varint(98 * 8), varint(300)]),
  Buffer.concat([varint(97 * 8 + 1), Buffer.alloc(8, 1)]),
  Buffer.concat([varint(96 * 8 + 5), Buffer.alloc(4, 1)]),
);
const pieces = (piece: fc.Arbitrary<Uint8Array>, maxLength: number): fc.Arbitrary<Buffer> =>
  fc.array(piece, { maxLength }).map((parts) => Buffer.concat(parts));

// Concatenated bytes are merged messages: fields in any order, repeated, and messages in parts.
const spec = pieces(rarely(specBytes, unknown), 3).map((bytes) => delimited(1, bytes));
const key = some.map((bytes) => delimited(2, Buffer.from(bytes)));
const submission = rarely(
  fc.oneof(
    spec,
    fc.tuple(spec, key).map((parts) => Buffer.concat(parts)),
    fc.tuple(key, spec, key).map((parts) => Buffer.concat(parts)),
  ),
  pieces(fc.oneof(spec, key, unknown), 3),
);
const request = pieces(
  rarely(
    submission.map((bytes) => delimited(1, bytes)),
    unknown,
  ),
  5,
);

const byHand = (bytes: Uint8Array): SubmissionInput[] => [...decodeSubmissions(bytes).jobs];
const generated = (bytes: Uint8Array): SubmissionInput[] =>
  fromBinary(SubmitJobsRequestSchema, bytes).jobs.map(fromSubmission);

const REFUSED = "the request is not a busbar.v1.SubmitJobsRequest";

const outcome = (read: () => SubmissionInput[]): SubmissionInput[] | string => {
  try {
    return read();
  } catch (error) {
    return error instanceof AppError ? error.message : "not a message";
  }
};

test("a request decodes as with the generated decoder, with everything that protobuf allows", () => {
  fc.assert(
    fc.property(request, (bytes) => {
      const wanted = outcome(() => generated(bytes));
      expect(outcome(() => byHand(bytes))).toEqual(wanted);
      if (typeof wanted !== "string")
        expect(decodeSubmissions(bytes).jobs.length).toBe(wanted.length);
    }),
    { numRuns: runs(1_000) },
  );
});

test("damaged bytes are rejected, or decode as with the generated decoder", () => {
  const damage = fc.record({ at: fc.nat(), xor: fc.nat(255), cut: fc.nat(400) });
  fc.assert(
    fc.property(request, damage, (bytes, { at, xor, cut }) => {
      const broken = Buffer.from(bytes.subarray(0, Math.max(1, bytes.length - cut)));
      if (broken.length > 0) broken[at % broken.length]! ^= xor;
      const found = outcome(() => byHand(broken));
      if (typeof found !== "string") expect(found).toEqual(generated(broken));
    }),
    { numRuns: runs(2_000) },
  );
});

test("a usual request is decoded by hand, one job at a time", () => {
  const jobs = [1, 2].map((at) => ({ spec: { command: ["/bin/true", `--part=${at}`] } }));
  const bytes = toBinary(SubmitJobsRequestSchema, create(SubmitJobsRequestSchema, { jobs }));
  const { jobs: read, allowUnsatisfiable } = decodeSubmissions(bytes);
  expect(allowUnsatisfiable).toBe(false);
  expect(Array.isArray(read)).toBe(false);
  expect([...read].map((job) => job.spec.command)).toEqual(jobs.map((job) => job.spec.command));
});

const specOf = (...fields: Buffer[]): Buffer => delimited(1, Buffer.concat(fields));
const command = (argument: string): Buffer => delimited(4, Buffer.from(argument));
const priority = (...bytes: number[]): Buffer => Buffer.from([11 * 8, ...bytes]);

const odd: Record<string, Buffer> = {
  "a spec in two parts": Buffer.concat([specOf(command("a")), specOf(command("b"))]),
  "a number of more bits than its field": specOf(command("a"), priority(255, 255, 255, 255, 15)),
  "a number that is longer than it need be": specOf(command("a"), priority(0x81, 0x80, 0)),
  "a number of too many bytes": specOf(command("a"), priority(...Array(11).fill(0x80), 0)),
  "a text where a number should be": specOf(command("a"), delimited(11, Buffer.from("b"))),
};

for (const [name, bytes] of Object.entries(odd)) {
  test(`${name} decodes as with the generated decoder`, () => {
    const jobs = Buffer.concat([delimited(1, specOf(command("x"))), delimited(1, bytes)]);
    expect(outcome(() => byHand(jobs))).toEqual(
      outcome(() => {
        try {
          return generated(jobs);
        } catch {
          throw new AppError("invalid_argument", REFUSED);
        }
      }),
    );
  });
}

test("a field that reaches beyond its message is rejected, although the generated decoder accepts it", () => {
  const next = delimited(1, specOf(command("next")));
  const overlong = Buffer.concat([varint(4 * 8 + 2), varint(1 + next.length), Buffer.from("s")]);
  const jobs = Buffer.concat([delimited(1, specOf(overlong)), next]);
  expect(generated(jobs)).toHaveLength(1);
  expect(() => byHand(jobs)).toThrow(REFUSED);
});

const job: fc.Arbitrary<SubmittedView> = fc.record(
  {
    id: fc.nat().map(String),
    existed: fc.boolean(),
    warning: fc.constantFrom("", "no node has joined yet", "é".repeat(100), "w".repeat(20_000)),
  },
  { requiredKeys: ["id", "existed"] },
);

test("an answer is encoded as by the generated encoder", () => {
  fc.assert(
    fc.property(fc.array(job), fc.nat(), (jobs, revision) => {
      const wanted = message(SubmitJobsResponseSchema, {
        jobs: jobs.map(({ id, existed, warning }) =>
          message(SubmittedJobSchema, { id, existed, warning, name: undefined }),
        ),
        revision: BigInt(revision),
      });
      expect(encodeSubmitted({ jobs, revision })).toEqual(
        Buffer.from(toBinary(SubmitJobsResponseSchema, wanted)),
      );
    }),
  );
});

test("other allowed fields beside the jobs are decoded too", () => {
  const jobs = [{ spec: { command: ["a"] } }];
  const wire = create(SubmitJobsRequestSchema, { jobs, allowUnsatisfiable: true });
  const read = decodeSubmissions(toBinary(SubmitJobsRequestSchema, wire));
  expect(read.allowUnsatisfiable).toBe(true);
  expect([...read.jobs].map(({ spec }) => spec.command)).toEqual([["a"]]);
});

test("the error about a job without a spec names its position", () => {
  const jobs = [create(JobSubmissionSchema, { spec: { command: ["a"] } }), {}];
  const bytes = toBinary(SubmitJobsRequestSchema, create(SubmitJobsRequestSchema, { jobs }));
  expect(() => byHand(bytes)).toThrow("jobs[1].spec");
});
