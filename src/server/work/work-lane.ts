import type { Job } from "../../core/model/job/job.ts";
import type { JobId } from "../../core/model/ids.ts";
import { createLinkWindow, partBytesOf } from "../../core/model/node/link-window.ts";
import type { RunRef } from "../../core/state/command.ts";
import type { Parts, RunSpec } from "../../gen/busbar/v1/agent_pb.ts";
import type { BulkWindow } from "../../lib/collections/bulk-window.ts";
import { commonEncoding } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { steadyMs } from "../../ports/clock.ts";
import type { MessageInit } from "../sessions/agent-session.ts";
import type { PackedSpec, PackedSpecs, SpecKind } from "./packed-specs.ts";
import { charsOf, type SpecReader, toRunSpec } from "./run-spec.ts";
import type { StreamPart } from "../../ports/attached-run.ts";
import { InputQueue } from "./input-queue.ts";
import { SpecQueue } from "./spec-queue.ts";

export interface WorkLaneOptions {
  send(message: MessageInit): void;
  readonly clock: Clock;
  /** Undefined: an older agent, which receives everything at once and unsplit. */
  readonly parts: Parts | undefined;
  readonly packedSpecs: PackedSpecs;
  readonly reader: SpecReader;
}

interface Start {
  readonly run: RunRef;
  readonly job: Job;
  /** The agent is to hold it, and begins it by itself; absent: it is to start it. */
  readonly heldAtMs?: number | undefined;
}

/** A job whose spec is too large to go with its starts. */
interface LargeJob {
  readonly job: Job;
  /** The starts that wait for the spec, by their keys. */
  readonly runs: Map<string, Start>;
  spec: PackedSpec | undefined;
  sentBytes: number;
}

const RUN_BYTES = 12; // about, of one start on the wire
const LARGE_EVERY = 4; // one in so many messages is for large specs although small ones wait

export const toRunId = ({ jobId, index, attempt }: RunRef) => ({ job: jobId, index, attempt });

const keyOf = ({ jobId, index, attempt }: RunRef): string => `${jobId}.${index}.${attempt}`;

/**
 * Sends work to one agent. Stops go at once. Starts with small specs go in messages
 * of a size that fits the link, before large specs, which go in parts. No more is under way than the
 * link carries in a moment (BulkWindow), so that acknowledgements and heartbeats, which bypass
 * this lane, never wait for long.
 *
 * Code that sends the agent another message about a run must first remove the run from here, as `stop` does.
 */
export class WorkLane {
  readonly #options: WorkLaneOptions;
  readonly #window: BulkWindow | undefined;
  readonly #specKind: SpecKind;
  /** From earlier sessions, by digest: bytes that the agent holds. */
  readonly #held: Map<string, number>;
  #starts: Start[] = [];
  /** How many of them were sent. */
  #startsSent = 0;
  #stops: RunRef[] = [];
  /** Held runs that the server takes back. */
  #returns: RunRef[] = [];
  readonly #large = new Map<JobId, LargeJob>();
  readonly #queue = new SpecQueue<LargeJob>();
  readonly #input = new InputQueue();
  /** Runs of a job sent and not ended: while there are some, the agent has the job's spec. */
  readonly #runsByJob = new Map<JobId, number>();
  readonly #withdrawn = new Set<string>();
  readonly #onRoom = (): void => this.flush();
  #turn = 0;
  #isSending = false;
  #isClosed = false;

  constructor(options: WorkLaneOptions) {
    const { parts, reader } = options;
    this.#options = options;
    this.#window = parts && createLinkWindow();
    this.#specKind = { reader, encoding: parts && commonEncoding(parts.encodings) };
    const held = parts?.heldSpecs.slice(0, limits.heldSpecsMax) ?? [];
    this.#held = new Map(held.map(({ digest, bytes }) => [hex(digest), Math.floor(bytes)]));
  }

  start(run: RunRef, job: Job, heldAtMs?: number): void {
    const start = { run, job, heldAtMs };
    const isLarge = this.#window !== undefined && !this.#runsByJob.has(run.jobId);
    if (isLarge && charsOf(job) > limits.specInlineBytesMax) this.#startLarge(start);
    else this.#starts.push(start);
  }

  takeBack(run: RunRef): void {
    this.#returns.push(run);
  }

  stop(run: RunRef): void {
    this.#stops.push(run);
  }

  /** Input of a client, for its run. */
  passInput(number: number, part: StreamPart): void {
    this.#input.add(number, part);
    this.flush();
  }

  dropInput(number: number): void {
    if (!this.#input.isEmpty) this.#input.drop(number);
  }

  /** A run has ended at the agent, or will never start. */
  runEnded(run: RunRef): void {
    if (this.#withdrawn.size > 0 && this.#withdrawn.delete(keyOf(run))) return;
    if (this.#large.size > 0 && this.#takeOutLarge(run)) return;
    if (this.#window !== undefined && this.#starts.length > 0 && this.#isWaiting(run)) {
      this.#takeOutStarts([run]);
      return;
    }
    const left = (this.#runsByJob.get(run.jobId) ?? 0) - 1;
    if (left > 0) this.#runsByJob.set(run.jobId, left);
    else this.#runsByJob.delete(run.jobId);
  }

  markReturned(number: number): void {
    this.#window?.returned(number, steadyMs(this.#options.clock));
  }

  flush(): void {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    // An older agent must receive starts before the stops for them.
    if (this.#window === undefined) while (this.#sendStarts(limits.messageBytesMax / 2));
    this.#sendStops();
    if (this.#window !== undefined) this.#sendWhileRoom(this.#window);
    this.#sendReturns();
    this.#isSending = false;
  }

  close(): void {
    this.#isClosed = true;
    const { packedSpecs } = this.#options;
    packedSpecs.cancelWaiting(this.#onRoom);
    for (const large of this.#large.values()) {
      if (large.spec !== undefined) packedSpecs.release(large.job, this.#specKind);
    }
    this.#large.clear();
  }

  #startLarge(start: Start): void {
    const { run, job } = start;
    let large = this.#large.get(job.id);
    if (large === undefined) {
      large = { job, runs: new Map(), spec: undefined, sentBytes: 0 };
      this.#large.set(job.id, large);
      this.#queue.add(large, charsOf(job));
    }
    large.runs.set(keyOf(run), start);
  }

  /** Sent after the runs that they concern. */
  #sendReturns(): void {
    if (this.#returns.length === 0) return;
    const isUnsent = (run: RunRef): boolean =>
      this.#isWaiting(run) || this.#large.get(run.jobId)?.runs.has(keyOf(run)) === true;
    const [later, now]: [RunRef[], RunRef[]] = [[], []];
    for (const run of this.#returns) (isUnsent(run) ? later : now).push(run);
    this.#returns = later;
    for (const part of inMessages(now)) this.#sendWork({ returns: part.map(toRunId) });
  }

  /** Starts that were not sent are dropped; the agent reports the ends of their runs all the same. */
  #sendStops(): void {
    if (this.#stops.length === 0) return;
    const waiting = this.#takeOutStarts(this.#stops);
    const [stops, withdrawn]: [RunRef[], RunRef[]] = [[], []];
    for (const run of this.#stops) {
      const isWaiting = waiting.has(keyOf(run)) || this.#takeOutLarge(run);
      (isWaiting ? withdrawn : stops).push(run);
    }
    this.#stops = [];
    for (const run of withdrawn) this.#withdrawn.add(keyOf(run));
    for (const part of inMessages(stops)) this.#sendWork({ stops: part.map(toRunId) });
    for (const part of inMessages(withdrawn)) this.#sendWork({ withdrawn: part.map(toRunId) });
  }

  /** One pass over all waiting starts. Returns the keys of those of `runs` that waited. */
  #takeOutStarts(runs: readonly RunRef[]): ReadonlySet<string> {
    const found = new Set<string>();
    if (this.#window === undefined || this.#starts.length === 0) return found;
    const wanted = new Set(runs.map(keyOf));
    const rest: Start[] = [];
    for (const start of this.#starts.slice(this.#startsSent)) {
      const key = keyOf(start.run);
      if (wanted.has(key)) found.add(key);
      else rest.push(start);
    }
    [this.#starts, this.#startsSent] = [rest, 0];
    return found;
  }

  /** False: it was sent already, or is unknown. */
  #takeOutLarge(run: RunRef): boolean {
    const large = this.#large.get(run.jobId);
    if (large?.runs.delete(keyOf(run)) !== true) return false;
    if (large.runs.size === 0) this.#dropLarge(large);
    return true;
  }

  #isWaiting({ jobId, index, attempt }: RunRef): boolean {
    const isIt = ({ run }: Start): boolean =>
      run.jobId === jobId && run.index === index && run.attempt === attempt;
    return this.#starts.findLastIndex(isIt) >= this.#startsSent;
  }

  #dropLarge(large: LargeJob): void {
    this.#large.delete(large.job.id);
    this.#queue.remove(large);
    if (large.spec !== undefined) this.#options.packedSpecs.release(large.job, this.#specKind);
  }

  #sendWhileRoom(window: BulkWindow): void {
    while (window.hasRoom) {
      const isLargesTurn = ++this.#turn % LARGE_EVERY === 0 && this.#queue.size > 0;
      const partBytes = partBytesOf(window);
      if (!this.#input.isEmpty && this.#turn % 2 === 0 && this.#sendInput(partBytes)) continue;
      if (!isLargesTurn && this.#sendStarts(partBytes)) continue;
      if (this.#sendSpecPart(partBytes) || this.#sendStarts(partBytes)) continue;
      if (!this.#sendInput(partBytes)) return;
    }
  }

  #sendInput(partBytes: number): boolean {
    const next = this.#input.take(partBytes);
    if (next === undefined) return false;
    const { number, part } = next;
    this.#options.send({
      case: "attachment",
      value: { number, message: { case: "part", value: part } },
    });
    this.#sent(part.data.length + RUN_BYTES);
    return true;
  }

  /** One message of about so many bytes, with the specs that the agent does not have. False: none. */
  #sendStarts(bytesMax: number): boolean {
    const specs: RunSpec[] = [];
    const runs: Start[] = [];
    let bytes = 0;
    const isWhole = this.#window === undefined;
    while (this.#startsSent < this.#starts.length && runs.length < limits.workItemsPerMessageMax) {
      const start = this.#starts[this.#startsSent] as Start;
      const { run, job } = start;
      const known = this.#runsByJob.get(run.jobId) ?? 0;
      const size = RUN_BYTES + (known > 0 ? 0 : charsOf(job) * (isWhole ? 3 : 1));
      if (runs.length > 0 && bytes + size > bytesMax) break;
      if (known === 0) specs.push(toRunSpec(job, this.#options.reader));
      bytes += size;
      runs.push(start);
      this.#runsByJob.set(run.jobId, known + 1);
      this.#startsSent += 1;
    }
    if (this.#startsSent === this.#starts.length) [this.#starts, this.#startsSent] = [[], 0];
    if (runs.length === 0) return false;
    this.#sendWork({ specs, ...toWork(runs) });
    this.#sent(bytes);
    return true;
  }

  /** False: there is none, or no space for another spec. */
  #sendSpecPart(partBytes: number): boolean {
    const large = this.#queue.next();
    if (large === undefined) return false;
    const spec = this.#specOf(large);
    if (spec === undefined) return false;
    const { digest, bytes, encoding } = spec;
    if (large.sentBytes < bytes.length) {
      const data = bytes.subarray(large.sentBytes, large.sentBytes + partBytes);
      const job = large.job.id;
      const value = { digest, size: bytes.length, offset: large.sentBytes, data, encoding, job };
      this.#options.send({ case: "specPart", value });
      large.sentBytes += data.length;
      this.#queue.setLeft(large, bytes.length - large.sentBytes);
      this.#sent(data.length);
    }
    if (large.sentBytes === bytes.length) this.#startAll(large, digest);
    return true;
  }

  #specOf(large: LargeJob): PackedSpec | undefined {
    if (large.spec !== undefined) return large.spec;
    const spec = this.#options.packedSpecs.take(large.job, this.#specKind, this.#onRoom);
    if (spec === undefined) return undefined;
    large.spec = spec;
    const heldBytes = this.#held.get(hex(spec.digest)) ?? 0;
    large.sentBytes = heldBytes > 0 ? Math.min(heldBytes, spec.bytes.length) : 0;
    return spec;
  }

  /** The agent has its spec. */
  #startAll(large: LargeJob, digest: Buffer): void {
    const { id } = large.job;
    const specRefs = [{ job: id, digest }];
    const runs = [...large.runs.values()];
    for (const part of inMessages(runs)) this.#sendWork({ specRefs, ...toWork(part) });
    this.#runsByJob.set(id, (this.#runsByJob.get(id) ?? 0) + runs.length);
    this.#held.delete(hex(digest)); // from now on it keeps the spec as long as there are runs
    this.#dropLarge(large);
    this.#sent(runs.length * RUN_BYTES);
  }

  #sendWork(value: Extract<MessageInit, { readonly case: "work" }>["value"]): void {
    this.#options.send({ case: "work", value });
  }

  #sent(bytes: number): void {
    const number = this.#window?.sent(bytes, steadyMs(this.#options.clock));
    if (number !== undefined) this.#options.send({ case: "mark", value: { number } });
  }
}

const hex = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");

function toWork(runs: readonly Start[]) {
  const starts: ReturnType<typeof toRunId>[] = [];
  const holds: { id: ReturnType<typeof toRunId>; heldAtMs: number }[] = [];
  const shares: { id: ReturnType<typeof toRunId>; wattSeconds: number }[] = [];
  for (const { run, heldAtMs } of runs) {
    if (run.share !== undefined) shares.push({ id: toRunId(run), wattSeconds: run.share });
    if (heldAtMs === undefined) starts.push(toRunId(run));
    else holds.push({ id: toRunId(run), heldAtMs });
  }
  return { starts, holds, shares };
}

function* inMessages<T>(runs: readonly T[]): Iterable<readonly T[]> {
  for (let at = 0; at < runs.length; at += limits.workItemsPerMessageMax) {
    yield runs.slice(at, at + limits.workItemsPerMessageMax);
  }
}
