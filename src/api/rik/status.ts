import { AppError } from "../../lib/errors.ts";

/** In the words of rik's own scheduler. Its workers exit on either. */
export const noHostName = (): AppError => new AppError("conflict", "No hostname specified");

export const alreadyThere = (): AppError =>
  new AppError("already_exists", "Worker with this hostname already exist");

/** Restarts a controller whose stream of statuses was lost with an earlier server. */
export const deafController = (): AppError =>
  new AppError(
    "unavailable",
    "the instance is accepted, but this controller has no GetStatusUpdates; subscribe again",
  );

/** Fields of Busbar's own operations, as callers of this door wrote them. */
const FIELDS: Readonly<Record<string, string>> = {
  "jobs[0].name": "instance_id",
  "jobs[0].workload": "definition",
  "jobs[0].labels.rik.workload": "workload_id",
  "names[0]": "name",
  template: "definition",
  "rollout.maxUnavailable": "max_unavailable",
  "rollout.minReadyMs": "min_ready_ms",
  "rollout.failuresMax": "failures_max",
};

/** A refusal of the core that names the field by its name here. */
export function inRikWords(error: AppError): AppError {
  const { code, problem, field = "", cause } = error;
  const own = FIELDS[field];
  return own === undefined ? error : new AppError(code, problem, { field: own, cause });
}
