import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import type { Job } from "../../core/model/job/job.ts";
import { RunSpecSchema } from "../../gen/busbar/v1/agent_pb.ts";
import { type Encoding, pack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import { type SpecReader, toRunSpec } from "./run-spec.ts";

/** A job's spec in the form for agents that accept parts. */
export interface PackedSpec {
  readonly digest: Buffer;
  readonly bytes: Buffer;
  readonly encoding: Encoding | "";
}

interface Entry extends PackedSpec {
  users: number;
}

export interface SpecKind {
  readonly reader: SpecReader;
  readonly encoding: Encoding | undefined;
}

/**
 * Large specs that are under way to agents, each packed once for all of them. Together they are bounded: sessions beyond that wait until
 * another one has finished.
 */
export class PackedSpecs {
  readonly #entries = new Map<string, Entry>();
  readonly #waiting = new Set<() => void>();
  readonly #bytesMax: number;
  readonly #idleBytesMax: number;
  #bytes = 0;
  /** Bytes of specs that no session sends at the moment. */
  #idleBytes = 0;

  constructor(
    bytesMax: number = limits.packedSpecBytesMax,
    idleBytesMax: number = limits.packedSpecIdleBytesMax,
  ) {
    this.#bytesMax = bytesMax;
    this.#idleBytesMax = idleBytesMax;
  }

  /** The caller must release it. Undefined: the limit is reached; `onRoom` is called once when memory is free. */
  take(job: Job, kind: SpecKind, onRoom: () => void): PackedSpec | undefined {
    const key = keyOf(job, kind);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (known.users === 0) this.#idleBytes -= known.bytes.length;
      known.users += 1;
      return known;
    }
    if (this.#bytes >= this.#bytesMax) this.#evict(0);
    // One spec always fits: a limit smaller than a spec must not block that spec for ever.
    if (this.#bytes >= this.#bytesMax) {
      this.#waiting.add(onRoom);
      return undefined;
    }
    const raw = toBinary(RunSpecSchema, toRunSpec(job, kind.reader));
    const { bytes, encoding } = packed(raw, kind.encoding);
    const digest = createHash("sha256").update(bytes).digest();
    const entry = { digest, bytes, encoding, users: 1 };
    this.#entries.set(key, entry);
    this.#bytes += bytes.length;
    return entry;
  }

  release(job: Job, kind: SpecKind): void {
    const entry = this.#entries.get(keyOf(job, kind));
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    this.#idleBytes += entry.bytes.length;
    this.#evict(this.#waiting.size > 0 ? 0 : this.#idleBytesMax);
    if (this.#waiting.size === 0) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const onRoom of waiting) onRoom();
  }

  /** Its session has ended. */
  cancelWaiting(onRoom: () => void): void {
    this.#waiting.delete(onRoom);
  }

  /** Retains a few specs that no session sends any more, for other nodes that are assigned tasks of these jobs. */
  #evict(idleBytesMax: number): void {
    for (const [key, { users, bytes }] of this.#entries) {
      if (this.#idleBytes <= idleBytesMax) return;
      if (users > 0) continue;
      this.#entries.delete(key);
      this.#bytes -= bytes.length;
      this.#idleBytes -= bytes.length;
    }
  }
}

const keyOf = ({ id }: Job, { reader, encoding }: SpecKind): string =>
  `${id} ${reader} ${encoding ?? ""}`;

function packed(
  raw: Uint8Array,
  encoding: Encoding | undefined,
): Pick<PackedSpec, "bytes" | "encoding"> {
  const plain = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  if (encoding === undefined) return { bytes: plain, encoding: "" };
  const bytes = pack(encoding, raw);
  return bytes.length < plain.length ? { bytes, encoding } : { bytes: plain, encoding: "" };
}
