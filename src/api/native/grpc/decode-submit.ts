import { fromBinary } from "@bufbuild/protobuf";
import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import { JobSpecSchema, SubmitJobsRequestSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import type { SubmissionInput, Submissions } from "../../../server/operations/operations.ts";
import { undecodable } from "../../grpc/calls/codec.ts";
import { type Decoded, MessageDecoder, tag } from "../../grpc/calls/message-decoder.ts";
import { fromSubmission } from "./translate.ts";
import { Unusual, unusual, WireReader } from "../../grpc/calls/wire-reader.ts";

/**
 * Decodes the jobs of a SubmitJobsRequest one by one, directly into the input of operations: the generated decoder makes three objects for
 * each job and holds those of all jobs at once, which costs more than the submission itself. The generated decoder is still authoritative:
 * a request with any encoding that clients do not usually write goes to it as a whole.
 */
export function decodeSubmissions(bytes: Uint8Array): {
  readonly jobs: Submissions;
  readonly allowUnsatisfiable: boolean;
} {
  try {
    const length = countJobs(new WireReader(bytes));
    const jobs = { length, [Symbol.iterator]: () => readJobs(bytes, length) };
    return { jobs, allowUnsatisfiable: false };
  } catch (error) {
    if (!(error instanceof Unusual)) throw error;
    const { jobs, allowUnsatisfiable } = decodeGenerated(bytes);
    return { jobs: jobs.map(fromSubmission), allowUnsatisfiable };
  }
}

function decodeGenerated(bytes: Uint8Array) {
  try {
    return fromBinary(SubmitJobsRequestSchema, bytes);
  } catch (error) {
    throw undecodable(SubmitJobsRequestSchema, error);
  }
}

const JOB = tag(1, 2);

function countJobs(wire: WireReader): number {
  let count = 0;
  for (; !wire.isAtEnd; count++) {
    if (wire.number() !== JOB) unusual();
    wire.skip();
  }
  return count;
}

function* readJobs(bytes: Uint8Array, length: number): Generator<SubmissionInput, void> {
  const reader = new SubmissionReader(bytes);
  for (let at = 0; at < length; at++) {
    const next = reader.next();
    if (next === undefined) {
      yield* readRest(bytes, at, length);
      return;
    }
    yield next;
  }
}

function* readRest(
  bytes: Uint8Array,
  from: number,
  length: number,
): Generator<SubmissionInput, void> {
  const { jobs } = decodeGenerated(bytes);
  // The generated decoder lets a field reach beyond the end of its message, and then finds other fields than this one.
  if (jobs.length !== length) throw undecodable(SubmitJobsRequestSchema);
  for (const [at, job] of jobs.entries()) if (at >= from) yield fromSubmission(job, at);
}

const SPEC = tag(1, 2);
const KEY = tag(2, 2);
const COMMAND = tag(JobSpecSchema.field.command.number, 2);
const SPECS = new MessageDecoder(JobSpecSchema);

class SubmissionReader {
  readonly #wire: WireReader;
  /** The arguments of the previous job: most are equal. */
  #argvBefore: readonly string[] = [];
  readonly #argv: string[] = [];

  constructor(bytes: Uint8Array) {
    this.#wire = new WireReader(bytes);
  }

  /** Undefined when only the generated decoder can read it. */
  next(): SubmissionInput | undefined {
    try {
      this.#wire.number(); // its tag is known: they were counted
      return this.#submission();
    } catch (error) {
      if (error instanceof Unusual) return undefined;
      throw error;
    }
  }

  #submission(): SubmissionInput {
    const wire = this.#wire;
    const outer = wire.enter();
    let spec: JobSpecInput | undefined;
    let key: string | undefined;
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === SPEC && spec === undefined) spec = this.#spec();
      else if (field === KEY) key = wire.text("");
      else unusual();
    }
    wire.leave(outer);
    if (spec === undefined) unusual();
    return { spec, idempotencyKey: key };
  }

  #spec(): JobSpecInput {
    const wire = this.#wire;
    const outer = wire.enter();
    const argv = this.#argv;
    argv.length = 0;
    const spec: Decoded = SPECS.begin();
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === COMMAND) argv.push(wire.text(this.#argvBefore[argv.length] ?? ""));
      else SPECS.readField(spec, field, wire);
    }
    wire.leave(outer);
    if (argv.length > 0) {
      this.#argvBefore = argv.slice();
      spec["command"] = this.#argvBefore;
    }
    return spec;
  }
}
