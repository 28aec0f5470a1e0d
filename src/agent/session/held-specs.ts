import { createHash } from "node:crypto";
import { fromBinary } from "@bufbuild/protobuf";

import type { RunSpec, SpecPart } from "../../gen/busbar/v1/agent_pb.ts";
import { RunSpecSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { invalid } from "../../lib/errors.ts";
import { unpack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";

interface HeldSpec {
  readonly digest: Uint8Array;
  readonly encoding: string;
  readonly bytes: Buffer;
  arrived: number;
}

/**
 * Large specs, or the beginnings of them, that the agent retains across sessions: by their digests, in memory, and bounded. It drops the
 * oldest; the server sends those again when they are needed.
 */
export class HeldSpecs {
  /** From the least to the most recently used. */
  readonly #specs = new Map<string, HeldSpec>();
  readonly #digestByJob = new Map<number, string>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = limits.heldSpecBytesMax) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  list(): { readonly digest: Uint8Array; readonly bytes: number }[] {
    return Array.from(this.#specs.values(), ({ digest, arrived }) => ({ digest, bytes: arrived }));
  }

  /** Throws when the part does not continue the parts received so far. */
  add({ job, digest, size, offset, data, encoding }: SpecPart): void {
    if (!Number.isInteger(size) || size < 1 || size > limits.messageBytesMax) {
      throw invalid("spec_part.size", `must be from 1 to ${limits.messageBytesMax}`);
    }
    const key = keyOf(digest);
    const spec = this.#specs.get(key) ?? {
      digest,
      encoding,
      bytes: Buffer.alloc(size),
      arrived: 0,
    };
    const continues = offset === spec.arrived && spec.bytes.length === size;
    if (!continues || offset + data.length > size) {
      this.#remove(key);
      throw invalid("spec_part.offset", `must be ${spec.arrived}, where the part before it ended`);
    }
    spec.bytes.set(data, offset);
    spec.arrived += data.length;
    this.#use(key, spec);
    this.#digestByJob.set(job, key);
  }

  /** The whole spec, for runs of the job. Throws when it is not here, or does not match its digest. */
  take(jobId: number, digest: Uint8Array): RunSpec {
    const key = keyOf(digest);
    const spec = this.#specs.get(key);
    if (spec === undefined || spec.arrived < spec.bytes.length) {
      throw invalid("work.spec_refs", `the spec of job ${jobId} has not arrived`);
    }
    if (!createHash("sha256").update(spec.bytes).digest().equals(digest)) {
      this.#remove(key);
      throw invalid("spec_part.digest", `is not that of the spec of job ${jobId}`);
    }
    this.#use(key, spec);
    this.#digestByJob.set(jobId, key);
    return fromBinary(RunSpecSchema, unpack(spec.encoding, spec.bytes, limits.messageBytesMax));
  }

  /** The job has no runs left here. */
  release(jobId: number): void {
    const key = this.#digestByJob.get(jobId);
    if (key === undefined) return;
    this.#digestByJob.delete(jobId);
    this.#remove(key);
  }

  #use(key: string, spec: HeldSpec): void {
    if (!this.#specs.delete(key)) this.#bytes += spec.bytes.length;
    this.#specs.set(key, spec);
    // The digests of jobs whose specs were dropped are few bytes, and are removed with the jobs.
    for (const oldest of this.#specs.keys()) {
      const fits = this.#bytes <= this.#bytesMax && this.#specs.size <= limits.heldSpecsMax;
      if (fits || oldest === key) return;
      this.#remove(oldest);
    }
  }

  #remove(key: string): void {
    this.#bytes -= this.#specs.get(key)?.bytes.length ?? 0;
    this.#specs.delete(key);
  }
}

const keyOf = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");
