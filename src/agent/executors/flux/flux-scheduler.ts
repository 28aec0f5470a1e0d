import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type {
  LowerIds,
  LowerJob,
  LowerQuery,
  LowerScheduler,
  LowerState,
} from "../../lower/scheduler.ts";
import type { LowerSubmitAnswer } from "../../lower/submit-each.ts";
import { isUnavailable, submitEach } from "../../lower/submit-each.ts";
import { bulkArguments, gatherBulks } from "./bulk-submit.ts";
import type { FluxAnswer, FluxCommand } from "./flux-command.ts";
import { asciiId, OWN_ID } from "./job-id.ts";
import { JOB_FORMAT, parseJobLine } from "./job-line.ts";
import { markedBy } from "./job-name.ts";
import type { FluxSite } from "./submit-arguments.ts";
import { needsInstance, shapeArguments, submitArguments } from "./submit-arguments.ts";

/** Jobs of a Flux instance, by its own commands. Arguments are always separate words, never a line for a shell. */
export function createFluxScheduler(flux: FluxCommand, site: FluxSite = {}): LowerScheduler {
  return {
    name: "flux",
    inside: { id: OWN_ID, index: "$FLUX_JOB_CC" },
    writesIntoOutput: needsInstance,
    launcher: (shape) => ["flux", "run", ...shapeArguments(shape, "task")],
    submitAll: (jobs) => submitAll(flux, jobs, site),
    find: (queries) => find(flux, queries),
    poll: (ids) => poll(flux, ids),
    cancel: (ids, how) => cancel(flux, ids, how),
  };
}

/** One command of Flux takes a sixth of a second, most of it to start, so it submits many jobs if possible. */
async function submitAll(
  flux: FluxCommand,
  jobs: readonly LowerJob[],
  site: FluxSite,
): Promise<readonly LowerSubmitAnswer[]> {
  const answers = new Map<LowerJob, LowerSubmitAnswer>();
  const bulks = gatherBulks(jobs, site);
  let away: LowerSubmitAnswer | undefined;
  for (const bulk of bulks.filter(({ length }) => length > 1)) {
    const some = away === undefined ? await submitBulk(flux, bulk, site) : [];
    for (const [at, job] of bulk.entries()) {
      const answer = away ?? some[at];
      if (answer !== undefined) answers.set(job, answer);
    }
    away ??= some.find(isUnavailable);
  }
  // Single jobs, and those that Flux rejected in a batch: submitted alone, each gets its own reason.
  const alone = jobs.filter((job) => !answers.has(job));
  const each = away === undefined ? await submitEach(alone, (job) => submit(flux, job, site)) : [];
  for (const [at, job] of alone.entries()) {
    const answer = away ?? each[at];
    if (answer !== undefined) answers.set(job, answer);
  }
  return jobs.flatMap((job) => answers.get(job) ?? []);
}

/** undefined: Flux rejected the bulk and did not accept this job. */
async function submitBulk(
  flux: FluxCommand,
  jobs: readonly LowerJob[],
  site: FluxSite,
): Promise<readonly (LowerSubmitAnswer | undefined)[]> {
  try {
    const scripted = jobs.map((job) => ({ job: withNet(job), path: writeScript(job) }));
    const answer = await flux(bulkArguments(scripted, site));
    if (answer.exitCode !== 0 && isUnreachable(answer)) throw unavailable(answer, "submitting");
    const ids = linesOf(answer.stdout).map(asciiId);
    const idOf = new Map<string | undefined, string>();
    if (ids.length > 0) {
      for (const { id, name } of await namesOf(flux, ids)) idOf.set(markedBy(name)?.marker, id);
    }
    if (answer.exitCode === 0 && idOf.size !== jobs.length) {
      throw new AppError("unavailable", `flux accepted ${idOf.size} of ${jobs.length} jobs`);
    }
    return jobs.map(({ marker }) => {
      const id = idOf.get(marker);
      return id === undefined ? undefined : { kind: "taken", ids: [id] };
    });
  } catch (error) {
    const failed = { kind: "failed", error: AppError.from(error, "submit jobs") } as const;
    return jobs.map(() => failed);
  }
}

function writeScript(job: LowerJob): string {
  const path = join(job.directory, `flux-${encodeURIComponent(job.marker)}`);
  writeFileSync(path, job.script);
  chmodSync(path, 0o700);
  return path;
}

async function submit(flux: FluxCommand, job: LowerJob, site: FluxSite): Promise<LowerIds> {
  if (job.indexes !== undefined && needsInstance(job)) {
    throw new AppError("exhausted", "flux batch takes no arrays");
  }
  const path = writeScript(job);
  let answer = await flux(submitArguments(withNet(job), path, site));
  // A queue may reject a limit longer than the requested time.
  if (
    answer.exitCode !== 0 &&
    job.timeLimitMs !== undefined &&
    /duration|limit/i.test(answer.stderr)
  )
    answer = await flux(submitArguments(job, path, site));
  const ids = linesOf(answer.stdout).map(asciiId);
  if (answer.exitCode !== 0) {
    const refusal = refusalOf(answer, "submitting");
    // Flux may have accepted some elements of an array before it rejected one.
    if (ids.length > 0 && refusal.code !== "unavailable") await cancel(flux, ids, "kill");
    throw refusal;
  }
  const wanted = job.indexes?.length ?? 1;
  if (ids.length !== wanted) {
    throw new AppError("unavailable", `flux answered ${ids.length} ids for ${wanted} jobs`);
  }
  return job.indexes === undefined ? ids : sortByIndex(flux, ids, job.indexes);
}

/**
 * At its time limit Flux sends ALRM, which means nothing to most programs. The agent ends jobs at their
 * time limit itself, with TERM; Flux's own limit is a net behind that.
 */
const withNet = (job: LowerJob): LowerJob =>
  job.timeLimitMs === undefined
    ? job
    : { ...job, timeLimitMs: job.timeLimitMs + job.killGraceMs + TIME_LIMIT_NET_MS };

const TIME_LIMIT_NET_MS = 60_000;

/** Ids of an array come in the order in which Flux accepted them; their names show their indexes. */
async function sortByIndex(
  flux: FluxCommand,
  ids: LowerIds,
  indexes: readonly number[],
): Promise<LowerIds> {
  const byIndex = new Map<number | undefined, string>();
  for (const { id, name } of await namesOf(flux, ids)) byIndex.set(markedBy(name)?.index, id);
  return indexes.map((index) => {
    const id = byIndex.get(index);
    if (id === undefined) throw new AppError("unavailable", `flux does not list element ${index}`);
    return id;
  });
}

async function namesOf(flux: FluxCommand, which: readonly string[]) {
  const answer = await flux(["jobs", "--color=never", "-n", "-o", "{id.f58}|{name}", ...which]);
  if (answer.exitCode !== 0) throw unavailable(answer, "listing jobs");
  return linesOf(answer.stdout).map((line) => {
    const at = line.indexOf("|");
    return { id: asciiId(line.slice(0, at)), name: line.slice(at + 1) };
  });
}

async function find(
  flux: FluxCommand,
  queries: readonly LowerQuery[],
): Promise<ReadonlyMap<string, readonly (string | undefined)[]>> {
  if (queries.length === 0) return new Map();
  const idOf = new Map<string, string>();
  const keyOf = (marker: string, index: number | undefined): string => `${index ?? ""} ${marker}`;
  // Newest first: of jobs submitted twice the first one counts, which comes last.
  for (const { id, name } of await namesOf(flux, ["-a", `--count=${limits.fluxJobsListedMax}`])) {
    const marked = markedBy(name);
    if (marked !== undefined) idOf.set(keyOf(marked.marker, marked.index), id);
  }
  const found = new Map<string, readonly (string | undefined)[]>();
  for (const { marker, indexes } of queries) {
    const ids = (indexes ?? [undefined]).map((index) => idOf.get(keyOf(marker, index)));
    if (ids.some((id) => id !== undefined)) found.set(marker, ids);
  }
  return found;
}

async function poll(
  flux: FluxCommand,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LowerState>> {
  const states = new Map<string, LowerState>(ids.map((id) => [id, { kind: "unknown" }]));
  for (let at = 0; at < ids.length; at += limits.fluxIdsPerCommandMax) {
    const some = ids.slice(at, at + limits.fluxIdsPerCommandMax);
    const answer = await flux(["jobs", "--color=never", "-n", "-o", JOB_FORMAT, ...some]);
    const jobs = linesOf(answer.stdout).flatMap((line) => parseJobLine(line) ?? []);
    // It may print errors for unknown ids, and still list the others.
    if (answer.exitCode !== 0 && jobs.length === 0 && !isUnknownOnly(answer)) {
      throw unavailable(answer, "listing jobs");
    }
    for (const { id, state } of jobs) if (states.has(id)) states.set(id, state);
  }
  return states;
}

async function cancel(
  flux: FluxCommand,
  ids: readonly string[],
  how: "ask" | "kill",
): Promise<void> {
  for (let at = 0; at < ids.length; at += limits.fluxIdsPerCommandMax) {
    const some = ids.slice(at, at + limits.fluxIdsPerCommandMax);
    const commands = how === "ask" ? await waysToAsk(flux, some) : waysToKill(some);
    for (const words of commands) {
      const answer = await flux(words);
      if (answer.exitCode !== 0 && isUnreachable(answer))
        throw unavailable(answer, words.join(" "));
    }
  }
}

/** When Flux cancels running jobs it kills them a few seconds later, whatever their grace period is. */
async function waysToAsk(
  flux: FluxCommand,
  ids: readonly string[],
): Promise<readonly (readonly string[])[]> {
  const answer = await flux(["jobs", "--color=never", "-n", "-o", "{id.f58}|{state}", ...ids]);
  if (answer.exitCode !== 0 && isUnreachable(answer)) throw unavailable(answer, "listing jobs");
  const running = linesOf(answer.stdout).flatMap((line) => {
    const [id = "", state] = line.split("|");
    return state === "RUN" ? [asciiId(id)] : [];
  });
  const others = ids.filter((id) => !running.includes(id));
  return [
    ...(running.length === 0 ? [] : [["job", "kill", "--signal=SIGTERM", ...running]]),
    ...(others.length === 0 ? [] : [["cancel", ...others]]),
  ];
}

const waysToKill = (ids: readonly string[]): readonly (readonly string[])[] => [
  ["cancel", ...ids],
  ["job", "kill", "--signal=SIGKILL", ...ids],
];

const linesOf = (text: string): readonly string[] =>
  text.split("\n").filter((line) => line.trim() !== "");

const isUnknownOnly = ({ stderr }: FluxAnswer): boolean =>
  linesOf(stderr).length > 0 &&
  linesOf(stderr).every((line) => /unknown|not found|no such job|invalid jobid/i.test(line));

/** The broker is down, or cannot answer now. */
const isUnreachable = ({ stderr }: FluxAnswer): boolean => UNREACHABLE.test(stderr);

const UNREACHABLE =
  /unable to connect|connection (?:refused|reset)|unreachable|timed out|no such file|function not implemented|shutting down|temporarily unavailable/i;

const saidBy = ({ exitCode, stderr }: FluxAnswer): string =>
  linesOf(stderr).join("; ").slice(0, MESSAGE_LENGTH_MAX) || `exit code ${exitCode}`;

const MESSAGE_LENGTH_MAX = 1_000;

const unavailable = (answer: FluxAnswer, doing: string): AppError =>
  new AppError("unavailable", `${doing}: ${saidBy(answer)}`);

const refusalOf = (answer: FluxAnswer, doing: string): AppError =>
  isUnreachable(answer)
    ? unavailable(answer, doing)
    : new AppError("invalid_argument", `Flux refused it: ${saidBy(answer)}`);
