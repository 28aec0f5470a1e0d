import { limits } from "../../../limits.ts";
import type { RunId, RunReport } from "../../../ports/executor.ts";
import { runKey } from "../../runs/run-key.ts";
import type { RunTerms } from "./run-file.ts";

/** A run on a far machine, as far as it is known here. */
export interface Run {
  readonly id: RunId;
  readonly key: string;
  readonly terms: RunTerms;
  readonly graceMs: number;
  /** Something of it was seen there. */
  isSeen: boolean;
  /** What started it; undefined: it was found there, or could not be sent. */
  readonly command: readonly string[] | undefined;
  /** When it was last sent, or something was heard of it. */
  heardAtMs: number;
  /** The far end says that what was sent has ended. */
  isAnswered: boolean;
  /** Because nothing began when it was sent first. */
  isSentOnceMore: boolean;
  isStopping: boolean;
  /** Its directory serves another run. */
  isClean: boolean;
  claimedSinceMs: number | undefined;
  /** Undefined: nothing is known of it but that it was sent. */
  report: RunReport | undefined;
}

/** How long nothing may be heard of a run: of one that was found, nobody will tell anything. */
export const patienceMs = ({ isAnswered }: Run): number =>
  isAnswered ? limits.remoteFoundMs : limits.remoteSurveyMs;

export const makeRun = (
  id: RunId,
  terms: RunTerms,
  graceMs: number,
  command: readonly string[] | undefined,
): Run => ({
  id,
  key: runKey(id),
  terms,
  graceMs,
  isSeen: false,
  command,
  heardAtMs: 0,
  isAnswered: false,
  isSentOnceMore: false,
  isStopping: false,
  isClean: false,
  claimedSinceMs: undefined,
  report: undefined,
});
