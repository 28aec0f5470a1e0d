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
