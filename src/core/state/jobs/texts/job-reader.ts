import { limits } from "../../../../limits.ts";
import { jobId } from "../../../model/ids.ts";
import { type Job, type JobTerms, SharedSpec, type Work } from "../../../model/job/job.ts";
import { DEFAULT_TERMS } from "../../../model/job/job-spec.ts";
import { decodeJob, waitingPrefix } from "../job-codec.ts";

/**
 * A parsed row that others resemble. The texts around its name, its id and its time of submission are equal in theirs: `begin` ends with the
 * quote before the name, `middle` has the work and ends with `"id":`, `end` has the submitter.
 */
interface Model {
  readonly begin: string;
  readonly middle: string;
  readonly end: string;
  readonly terms: JobTerms;
  readonly work: Work;
  readonly submittedBy: string;
}

/**
 * Reads the rows of jobs. A row that differs from an earlier one only by name, id and time of submission is not parsed: its job shares
 * terms and work with the earlier one. This makes a start with many running jobs fast.
 */
export class JobReader {
  /** By the beginning of their rows: the last one of each. */
  readonly #models = new Map<string, Model>();
  #last: Model | undefined = undefined; // jobs that are read one after the other mostly resemble each other
  #like = DEFAULT_TERMS;
  /** The number of parsed rows: for tests. */
  parsed = 0;

  read(text: string): Job {
    const last = this.#last && readLike(this.#last, text);
    if (last !== undefined) return last;
    const begin = beginOf(text);
    const model = begin === undefined ? undefined : this.#models.get(begin);
    const known = model && readLike(model, text);
    this.#last = model ?? this.#last;
    if (known !== undefined) return known;
    this.parsed++;
    const job = decodeJob(text, model?.terms ?? this.#like);
    this.#like = job.spec.terms;
    if (begin !== undefined) this.#learn(begin, text, job);
    return job;
  }

  #learn(begin: string, text: string, job: Job): void {
    const { name, terms, work } = job.spec;
    const { id, submittedAtMs, submittedBy } = job;
    if (!isPlain(job)) return;
    // A label may have the key "name" too: then it is not the job's name that follows.
    const own = this.#models.get(begin)?.begin ?? `${waitingPrefix(terms)}"`;
    if (begin !== own) return;
    const end = `,"submittedBy":${JSON.stringify(submittedBy)}}`;
    const tail = `${id}${TIME}${submittedAtMs}${end}`;
    if (!text.endsWith(ID + tail)) return;
    const nameEnd = begin.length + JSON.stringify(name).length - '""'.length;
    const middle = copyOf(text.slice(nameEnd, text.length - tail.length));
    if (this.#models.size >= limits.knownTermsMax) this.#models.clear();
    this.#last = { begin: own, middle, end, terms, work, submittedBy };
    this.#models.set(own, this.#last);
  }
}

const START = '{"spec":{';
const NAME = '"name":"';
const ID = '},"id":';
const TIME = ',"submittedAtMs":';

/** Undefined: the row has a decision about the job, or is too long for a model. */
function beginOf(text: string): string | undefined {
  if (text.length > limits.sharedSpecCharsMax || !text.startsWith(START)) return undefined;
  const at = text.indexOf(NAME);
  return at < 0 ? undefined : text.slice(0, at + NAME.length);
}

/** Undefined: the row differs by more. Comparing slices is faster than `startsWith`. */
function readLike(model: Model, text: string): Job | undefined {
  const { begin, middle, end } = model;
  const nameAt = begin.length;
  if (text.slice(0, nameAt) !== begin) return undefined;
  const nameEnd = text.indexOf('"', nameAt);
  const idAt = nameEnd + middle.length;
  if (text.slice(nameEnd, idAt) !== middle) return undefined;
  const idEnd = text.indexOf(TIME, idAt);
  const timeAt = idEnd + TIME.length;
  const timeEnd = text.length - end.length;
  if (idEnd < 0 || timeEnd < timeAt || text.slice(timeEnd) !== end) return undefined;
  const id = Number(text.slice(idAt, idEnd));
  const submittedAtMs = Number(text.slice(timeAt, timeEnd));
  if (!Number.isSafeInteger(id) || Number.isNaN(submittedAtMs)) return undefined;
  // A slice would retain the whole text. The quote is not an escaped one: `middle` could not follow it in any JSON.
  const name = JSON.parse(text.slice(nameAt - 1, nameEnd + 1)) as string;
  return {
    id: jobId(id),
    spec: new SharedSpec(name, model.work, model.terms),
    submittedAtMs,
    submittedBy: model.submittedBy,
    idempotencyKey: undefined,
    closed: undefined,
    waitsFor: undefined,
  };
}

/** The row has nothing but spec, id, time and submitter. */
function isPlain(job: Job): boolean {
  const { spec, id: _, submittedAtMs: __, submittedBy: ___, ...decided } = job;
  const { dependsOn, energy, entries } = spec;
  const others = [dependsOn, energy, entries, ...Object.values(decided)];
  return others.every((each) => each === undefined);
}

/** A slice would retain the text that it is a part of. */
const copyOf = (slice: string): string => Buffer.from(slice).toString();
