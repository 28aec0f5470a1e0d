import type { PastAttempt, Task } from "../../model/job/task.ts";
import type { StoredUsage } from "../../model/job/usage.ts";
import { decodeUsage, encodeUsage } from "../../model/job/usage.ts";

type StoredPast = Omit<PastAttempt, "usage"> & { readonly usage?: StoredUsage };
type StoredTask = Pick<Task, "jobId" | "index" | "attempt" | "state"> &
  Partial<Pick<Task, "failures" | "losses">> & {
    readonly returns?: number | undefined;
    readonly restarts?: Task["restarts"] | undefined;
    readonly past?: readonly StoredPast[];
    readonly takes?: Task["takes"] | undefined;
    readonly share?: number | undefined;
    readonly told?: Task["told"] | undefined;
    readonly progress?: Task["progress"] | undefined;
    readonly usage?: StoredUsage | undefined;
    readonly earlierUsage?: StoredUsage | undefined;
  };

export const NO_PAST: Task["past"] = Object.freeze([]);

export function encodeTask(task: Task): string {
  const { jobId, index, attempt, state, failures, losses, returns, past } = task;
  const { takes, share, told, progress, usage } = task;
  // Undefined fields are not written.
  const used = usage && encodeUsage(usage);
  const base: StoredTask = {
    jobId,
    index,
    attempt,
    state,
    takes,
    share,
    told,
    progress,
    usage: used,
  };
  const isFirst = failures === 0 && losses === 0 && returns === undefined && past.length === 0;
  if (isFirst) return JSON.stringify(base);
  const earlierUsage = task.earlierUsage && encodeUsage(task.earlierUsage);
  const stored: StoredTask = {
    ...base,
    failures,
    losses,
    returns,
    restarts: task.restarts,
    past: past.map(encodePast),
    earlierUsage,
  };
  return JSON.stringify(stored);
}

const encodePast = ({ usage, ...past }: PastAttempt): StoredPast =>
  usage === undefined ? past : { ...past, usage: encodeUsage(usage) };

function decodePast({ usage: stored, ...past }: StoredPast): PastAttempt {
  const usage = stored && decodeUsage(stored);
  const read = { ...past, nodeId: past.nodeId, startedAtMs: past.startedAtMs };
  return usage === undefined ? read : { ...read, usage };
}

export const decodeTask = (text: string): Task => readTask(JSON.parse(text) as StoredTask);

const FIELDS_MIN = 4;

function readTask(stored: StoredTask): Task {
  const { jobId, index, attempt, state } = stored;
  // Most tasks that have not ended have no other fields.
  if (Object.keys(stored).length === FIELDS_MIN) {
    return {
      jobId,
      index,
      attempt,
      state: decodeState(state),
      failures: 0,
      losses: 0,
      past: NO_PAST,
    };
  }
  const usage = stored.usage && decodeUsage(stored.usage);
  const earlierUsage = stored.earlierUsage && decodeUsage(stored.earlierUsage);
  return {
    jobId,
    index,
    attempt,
    state: decodeState(state),
    failures: stored.failures ?? 0,
    losses: stored.losses ?? 0,
    past: stored.past === undefined ? NO_PAST : stored.past.map(decodePast),
    ...(stored.returns === undefined ? {} : { returns: stored.returns }),
    ...(stored.restarts === undefined ? {} : { restarts: stored.restarts }),
    ...(stored.takes === undefined ? {} : { takes: stored.takes }),
    ...(stored.share === undefined ? {} : { share: stored.share }),
    ...(stored.told === undefined ? {} : { told: stored.told }),
    ...(stored.progress === undefined ? {} : { progress: stored.progress }),
    ...(usage === undefined ? {} : { usage }),
    ...(earlierUsage === undefined ? {} : { earlierUsage }),
  };
}

/** JSON leaves out undefined. Restores optional fields, so that equal rows compare as equal. */
function decodeState(state: Task["state"]): Task["state"] {
  switch (state.kind) {
    case "stopping":
    case "accepted":
      return { ...state, startedAtMs: state.startedAtMs };
    case "succeeded":
      return { ...state, nodeId: state.nodeId };
    case "failed":
    case "cancelled":
      return { ...state, nodeId: state.nodeId, startedAtMs: state.startedAtMs };
    case "waiting":
    case "offered":
    case "held":
    case "assigned":
    case "running":
      return state;
  }
}
