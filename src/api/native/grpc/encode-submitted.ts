import { toBinary } from "@bufbuild/protobuf";
import { SubmitJobsResponseSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import type { Operations, SubmittedView } from "../../../server/operations/operations.ts";
import { message, wide } from "../../grpc/calls/wire-message.ts";

type Answer = Awaited<ReturnType<Operations["submitJobs"]>>;

// Tags of busbar.proto: a field's number and its wire type.
const JOB = 0x0a;
const ID = 0x0a;
const EXISTED = 0x10;
const WARNING = 0x1a;

/**
 * A SubmitJobsResponse as bytes. A message object for each job would cost more than submitting it; the generated encoder writes the parts
 * that occur once.
 */
export function encodeSubmitted({ jobs, revision }: Answer): Buffer {
  const writer = new JobWriter(jobs);
  for (const job of jobs) writer.job(job);
  const rest = toBinary(
    SubmitJobsResponseSchema,
    message(SubmitJobsResponseSchema, { jobs: [], revision: wide(revision) }),
  );
  return writer.end(rest);
}

class JobWriter {
  #bytes: Buffer;
  #at = 0;
  /** The last warning, which most jobs repeat. */
  #warning: string | undefined;
  #warningBytes: Uint8Array | undefined;

  constructor(jobs: readonly SubmittedView[]) {
    this.#bytes = Buffer.allocUnsafe(64 + jobs.length * 64);
  }

  job({ id, existed, warning }: SubmittedView): void {
    if (warning !== this.#warning) {
      this.#warning = warning;
      this.#warningBytes = warning === undefined ? undefined : Buffer.from(warning);
    }
    const said = this.#warningBytes;
    const warningLength = said === undefined ? 0 : 1 + lengthOf(said.length) + said.length;
    // An id consists of digits: as many bytes as characters, and few.
    const length = 2 + id.length + (existed ? 2 : 0) + warningLength;
    this.#reserve(6 + length);
    this.#byte(JOB);
    this.#number(length);
    this.#byte(ID);
    this.#byte(id.length);
    for (let at = 0; at < id.length; at++) this.#byte(id.charCodeAt(at));
    if (existed) {
      this.#byte(EXISTED);
      this.#byte(1);
    }
    if (said === undefined) return;
    this.#byte(WARNING);
    this.#number(said.length);
    this.#bytes.set(said, this.#at);
    this.#at += said.length;
  }

  end(rest: Uint8Array): Buffer {
    this.#reserve(rest.length);
    this.#bytes.set(rest, this.#at);
    return this.#bytes.subarray(0, this.#at + rest.length);
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * this.#bytes.length + more);
    larger.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = larger;
  }

  #byte(value: number): void {
    this.#bytes[this.#at++] = value;
  }

  #number(value: number): void {
    for (let rest = value; ; rest >>>= 7) {
      if (rest < 0x80) return this.#byte(rest);
      this.#byte((rest & 0x7f) | 0x80);
    }
  }
}

function lengthOf(value: number): number {
  let length = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) length++;
  return length;
}
