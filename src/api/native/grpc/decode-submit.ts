import { fromBinary } from "@bufbuild/protobuf";
import type { DependencyInput } from "../../../core/model/job/dependency.ts";
import type { JobSpecInput } from "../../../core/model/job/job-spec.ts";
import { SubmitJobsRequestSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import type { SubmissionInput, Submissions } from "../../../server/operations/operations.ts";
import { undecodable } from "../../grpc/calls/codec.ts";
import { fromSubmission, given } from "./translate.ts";
import { Unusual, unusual, WireReader } from "../../grpc/calls/wire-reader.ts";

/**
 * Reads the jobs of a SubmitJobsRequest one by one, straight into what operations take: the
 * generated decoder makes three objects for each job and holds those of all jobs at once, which
 * costs more than all that is done with them. It still has the last word: a request with anything
 * that clients do not usually write is given to it as a whole.
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

// A tag is a field's number and how it is written: 0 number, 1 eight bytes, 2 length and bytes.
const tag = (field: number, written: 0 | 1 | 2): number => field * 8 + written;
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
  // It lets a field reach beyond the end of its message, and then finds others where we did not.
  if (jobs.length !== length) throw undecodable(SubmitJobsRequestSchema);
  for (const [at, job] of jobs.entries()) if (at >= from) yield fromSubmission(job, at);
}

type Texts = Record<string, string>;

/** A spec while it is read; what was not given stays undefined. */
type SpecFields = { -readonly [Name in keyof Required<JobSpecInput>]: JobSpecInput[Name] };

const SPEC = tag(1, 2);
const KEY = tag(2, 2);

class SubmissionReader {
  readonly #wire: WireReader;
  /** Arguments of the job before: most are the same. */
  #argvBefore: readonly string[] = [];
  readonly #argv: string[] = [];

  constructor(bytes: Uint8Array) {
    this.#wire = new WireReader(bytes);
  }

  /** Undefined when there is something that only the generated decoder knows. */
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
    let key = "";
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === SPEC && spec === undefined) spec = this.#spec();
      else if (field === KEY) key = wire.text("");
      else unusual();
    }
    wire.leave(outer);
    if (spec === undefined) unusual();
    return { spec, idempotencyKey: given(key) };
  }

  #spec(): JobSpecInput {
    const wire = this.#wire;
    const outer = wire.enter();
    const argv = this.#argv;
    argv.length = 0;
    const spec: SpecFields = { ...NOTHING };
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === COMMAND) argv.push(wire.text(this.#argvBefore[argv.length] ?? ""));
      else this.#specField(spec, field);
    }
    wire.leave(outer);
    if (argv.length > 0) {
      this.#argvBefore = argv.slice();
      spec.command = this.#argvBefore;
    }
    return spec;
  }

  #specField(spec: SpecFields, field: number): void {
    const wire = this.#wire;
    switch (field) {
      case tag(1, 2):
        spec.name = given(wire.text(""));
        return;
      case tag(2, 2):
        spec.group = given(wire.text(""));
        return;
      case tag(3, 2):
        spec.labels = this.#entry(spec.labels ?? {});
        return;
      case tag(5, 2):
        spec.script = given(wire.text(""));
        return;
      case tag(6, 2):
        spec.env = this.#entry(spec.env ?? {});
        return;
      case tag(7, 2):
        spec.cwd = given(wire.text(""));
        return;
      case tag(8, 2):
        spec.resources = this.#amount(spec.resources ?? {});
        return;
      case tag(9, 2):
        spec.placement = spec.placement === undefined ? this.#placement() : unusual();
        return;
      case tag(10, 2):
        spec.array = given(wire.text(""));
        return;
      case tag(11, 0):
        spec.priority = given(this.#int32());
        return;
      case tag(12, 2):
        spec.retries = spec.retries === undefined ? this.#retries() : unusual();
        return;
      case tag(13, 0):
        spec.timeLimitMs = given(wire.number());
        return;
      case tag(14, 0):
        spec.killGraceMs = given(wire.number());
        return;
      case tag(15, 0):
        spec.queueDeadlineMs = given(wire.number());
        return;
      case tag(16, 0):
        spec.outputLimitBytes = given(wire.number());
        return;
      case tag(17, 2):
        ((spec.dependsOn ??= []) as DependencyInput[]).push(this.#dependency());
        return;
      default:
        unusual();
    }
  }

  #int32(): number {
    const value = this.#wire.number();
    return value <= 0x7fff_ffff ? value : unusual();
  }

  #uint32(): number {
    const value = this.#wire.number();
    return value <= 0xffff_ffff ? value : unusual();
  }

  #dependency(): DependencyInput {
    const wire = this.#wire;
    const outer = wire.enter();
    const on: string[] = [];
    let kind = "";
    let atLeast = 0;
    let name = "";
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === tag(1, 2)) kind = wire.text("");
      else if (field === tag(2, 2)) on.push(wire.text(""));
      else if (field === tag(3, 0)) atLeast = this.#uint32();
      else if (field === tag(4, 2)) name = wire.text("");
      else unusual();
    }
    wire.leave(outer);
    return {
      kind: given(kind),
      on: on.length === 0 ? undefined : on,
      atLeast: given(atLeast),
      name: given(name),
    };
  }

  #entry(texts: Texts): Texts {
    const wire = this.#wire;
    const outer = wire.enter();
    let name = "";
    let value = "";
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === tag(1, 2)) name = wire.text("");
      else if (field === tag(2, 2)) value = wire.text("");
      else unusual();
    }
    wire.leave(outer);
    if (name === "__proto__") unusual();
    texts[name] = value;
    return texts;
  }

  #amount(amounts: Record<string, number>): Record<string, number> {
    const wire = this.#wire;
    const outer = wire.enter();
    let name = "";
    let value = 0;
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === tag(1, 2)) name = wire.text("");
      else if (field === tag(2, 1)) value = wire.double();
      else unusual();
    }
    wire.leave(outer);
    if (name === "__proto__") unusual();
    amounts[name] = value;
    return amounts;
  }

  #placement(): JobSpecInput["placement"] {
    const wire = this.#wire;
    const outer = wire.enter();
    let cluster = "";
    let node = "";
    let kind = "";
    let labels: Texts | undefined;
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === tag(1, 2)) cluster = wire.text("");
      else if (field === tag(2, 2)) node = wire.text("");
      else if (field === tag(3, 2)) labels = this.#entry(labels ?? {});
      else if (field === tag(4, 2)) kind = wire.text("");
      else unusual();
    }
    wire.leave(outer);
    return { kind: given(kind), cluster: given(cluster), node: given(node), labels };
  }

  #retries(): JobSpecInput["retries"] {
    const wire = this.#wire;
    const outer = wire.enter();
    let max = 0;
    let backoffMs = 0;
    let backoffMaxMs = 0;
    while (!wire.isAtEnd) {
      const field = wire.number();
      if (field === tag(1, 0)) max = this.#int32();
      else if (field === tag(2, 0)) backoffMs = wire.number();
      else if (field === tag(3, 0)) backoffMaxMs = wire.number();
      else unusual();
    }
    wire.leave(outer);
    return {
      max: given(max),
      backoffMs: given(backoffMs),
      backoffMaxMs: given(backoffMaxMs),
    };
  }
}

const COMMAND = tag(4, 2);

const NOTHING: SpecFields = {
  name: undefined,
  group: undefined,
  labels: undefined,
  command: undefined,
  script: undefined,
  jobspec: undefined,
  env: undefined,
  cwd: undefined,
  resources: undefined,
  request: undefined,
  select: undefined,
  placement: undefined,
  array: undefined,
  priority: undefined,
  retries: undefined,
  timeLimitMs: undefined,
  killGraceMs: undefined,
  queueDeadlineMs: undefined,
  outputLimitBytes: undefined,
  dependsOn: undefined,
};
