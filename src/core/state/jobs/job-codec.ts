import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { limits } from "../../../limits.ts";
import { decodeChoice } from "../../graph/rows.ts";
import type { Job, JobSpec, JobTerms } from "../../model/job/job.ts";
import { SharedSpec } from "../../model/job/job.ts";
import { DEFAULT_TERMS, shareTerms, TERM_NAMES } from "../../model/job/job-spec.ts";

export type StoredSpec = Partial<JobTerms> & Pick<JobSpec, "work" | "name"> & Partial<JobSpec>;
type StoredJob = Omit<Job, "spec" | "submitted"> & {
  readonly submitted?: StoredSubmitted;
  readonly spec: StoredSpec;
};

/**
 * Decisions about the job, its dependencies and its terms come first: see `waitingPrefix`. A row
 * with a decision or a dependency is always parsed as a whole.
 */
export function encodeJob(job: Job): string {
  const { id, submittedAtMs, submittedBy, idempotencyKey, closed, waitsFor, instance } = job;
  const { alternatives } = job;
  const { hold, submitted, changedBy } = job;
  const decided = {
    closed,
    waitsFor,
    alternatives,
    hold,
    submitted: submitted && storedSubmitted(submitted),
    changedBy,
    idempotencyKey,
    instance,
  };
  const text = sharedTextOf(job.spec);
  if (text === undefined) {
    const spec = storedSpec(job.spec);
    return JSON.stringify({ ...decided, spec, id, submittedAtMs, submittedBy });
  }
  const start = JSON.stringify(decided).slice(0, -1);
  const end = JSON.stringify({ id, submittedAtMs, submittedBy }).slice(1);
  return `${start}${start === "{" ? "" : ","}"spec":${text},${end}`;
}

/** The texts of specs that several jobs share; empty until a job is stored. */
const sharedTexts = new WeakMap<JobSpec, string>();

/** Many jobs will have this spec: its text is made once, unless it is long. */
export function shareText(spec: JobSpec): void {
  const { work } = spec;
  const isShort = "text" in work && work.text.length <= limits.sharedSpecCharsMax;
  if (isShort && !sharedTexts.has(spec)) sharedTexts.set(spec, "");
}

function sharedTextOf(spec: JobSpec): string | undefined {
  const known = sharedTexts.get(spec);
  if (known !== "") return known;
  const text = JSON.stringify(storedSpec(spec));
  sharedTexts.set(spec, text);
  return text;
}

/** A spec in stored form, in a job's row or in another. */
export function storedSpec(spec: JobSpec): Record<string, unknown> {
  const terms = storedTerms(spec.terms);
  const stored = spec.dependsOn === undefined ? terms : { dependsOn: spec.dependsOn, ...terms };
  stored["name"] = spec.name;
  stored["work"] = spec.work;
  if (spec.energy !== undefined) stored["energy"] = spec.energy;
  if (spec.entries !== undefined) stored["entries"] = spec.entries;
  return stored;
}

/** Default terms are omitted from the row, and shared when it is read. */
function storedTerms(terms: JobTerms): Record<string, unknown> {
  const stored: Record<string, unknown> = {};
  if (terms === DEFAULT_TERMS) return stored;
  for (const name of TERM_NAMES) {
    const value = terms[name];
    if (!isDeepEqual(value, DEFAULT_TERMS[name])) stored[name] = value;
  }
  return stored;
}

/**
 * The beginning of the row of a job with these terms, up to its name, if the job has no idempotency
 * key and is not closed. The queue accepts a row with this beginning without parsing it. Rows of
 * earlier versions have their fields in another order and begin differently.
 */
export function waitingPrefix(terms: JobTerms): string {
  const text = JSON.stringify({ spec: { ...storedTerms(terms), name: "" } });
  return text.slice(0, -'""}}'.length);
}

const SUBMITTED_BY = '"submittedBy":';
const SUBMITTED_AT = '"submittedAtMs":';
const TIME_DIGITS_MAX = 16;
const NAME = '"name":';

/**
 * A job's name and submitter from a row that begins with `waitingPrefix`, without parsing the rest:
 * the name ends the prefix, and the submitter ends the row.
 */
export function searchedTexts(text: string): {
  readonly name: string;
  readonly submittedBy: string;
  readonly submittedAtMs: number;
} {
  const name = text.indexOf(NAME) + NAME.length;
  const submitter = text.lastIndexOf(SUBMITTED_BY) + SUBMITTED_BY.length;
  const time = text.lastIndexOf(SUBMITTED_AT) + SUBMITTED_AT.length;
  return {
    name: stringAt(text, name),
    submittedBy: stringAt(text, submitter),
    submittedAtMs: Number.parseInt(text.slice(time, time + TIME_DIGITS_MAX), 10),
  };
}

function stringAt(text: string, at: number): string {
  let end = text.indexOf('"', at + 1);
  const plain = text.slice(at + 1, end);
  if (!plain.includes("\\")) return plain;
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return JSON.parse(text.slice(at, end + 1)) as string;
}

/** Whether an odd number of backslashes precedes. */
export function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text[before - 1] === "\\") before--;
  return (at - before) % 2 === 1;
}

export function decodeJob(value: string, like = DEFAULT_TERMS): Job {
  const stored = JSON.parse(value) as StoredJob;
  return {
    id: stored.id,
    spec: decodeSpec(stored.spec, like),
    submittedAtMs: stored.submittedAtMs,
    submittedBy: stored.submittedBy,
    idempotencyKey: stored.idempotencyKey,
    closed: stored.closed,
    waitsFor: stored.waitsFor,
    ...(stored.instance && { instance: stored.instance }),
    ...(stored.alternatives && { alternatives: stored.alternatives }),
    ...(stored.hold === undefined ? {} : { hold: stored.hold }),
    ...(stored.submitted === undefined ? {} : { submitted: readSubmitted(stored.submitted) }),
    ...(stored.changedBy === undefined ? {} : { changedBy: stored.changedBy }),
  };
}

type StoredSubmitted = Omit<NonNullable<Job["submitted"]>, "timeLimitMs"> & {
  readonly timeLimitMs?: number | null | undefined;
};

/** JSON leaves out undefined, which here is a valid time limit: none. */
const storedSubmitted = (submitted: NonNullable<Job["submitted"]>): StoredSubmitted =>
  "timeLimitMs" in submitted
    ? { ...submitted, timeLimitMs: submitted.timeLimitMs ?? null }
    : submitted;

const readSubmitted = ({ timeLimitMs, ...rest }: StoredSubmitted): NonNullable<Job["submitted"]> =>
  timeLimitMs === undefined ? rest : { ...rest, timeLimitMs: timeLimitMs ?? undefined };

export function decodeSpec(stored: StoredSpec, like = DEFAULT_TERMS): JobSpec {
  const { name, work, dependsOn, energy, entries, ...some } = stored;
  const isDefault = Object.keys(some).length === 0;
  const terms = isDefault ? DEFAULT_TERMS : shareTerms(decodeTerms(some), like);
  return new SharedSpec(name, work, terms, { dependsOn, energy, entries });
}

function decodeTerms(some: Partial<JobTerms>): JobTerms {
  const { request, select } = some;
  const terms = { ...DEFAULT_TERMS, ...some };
  if (request === undefined && select === undefined) return terms;
  return {
    ...terms,
    request: request && decodeChoice(request),
    select: select && { ...select, strategy: select.strategy },
  };
}
