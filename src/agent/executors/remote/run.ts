import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { EndedReport, RunId, RunReport, RunRequest } from "../../../ports/executor.ts";
import { runKey } from "../../runs/run-key.ts";
import type { RemoteRunTerms } from "./run-file.ts";

/**
 * The state of a run on a remote machine. The executor learns two things independently: whether the
 * machine has files of the run, and whether the command that started it has answered. After the answer
 * nothing reports the end: the executor polls for it.
 *
 *             nothing there: sent again
 *                  +---+
 *                  v   |
 *   (start) -----> sent --answer--> answered --nothing there, first try--> installing --> sent
 *                    |                  |    --nothing there, second try--> ended
 *                    | files            | files
 *                    v                  v
 *                  seen ---answer---> found <----- (a survey at the start found it)
 *                                       +--files gone--> ended
 *
 * Each of them: --its end is read--> ended, --stop--> stopping --nothing of it is left--> ended.
 */
export type RemoteRunState =
  | { readonly kind: "sent"; readonly start: StartCommand }
  | { readonly kind: "answered"; readonly start: StartCommand }
  /** The start scripts are being written there again; the run is sent afterwards. */
  | { readonly kind: "installing" }
  /** `claimedSinceMs`: a wrapper has claimed the run, and has not recorded its identity since then. */
  | { readonly kind: "seen"; readonly claimedSinceMs: number | undefined }
  | { readonly kind: "found"; readonly claimedSinceMs: number | undefined }
  | { readonly kind: "stopping" }
  | {
      readonly kind: "ended";
      readonly report: EndedReport;
      readonly left: RemoteRemains;
    };

export interface StartCommand {
  readonly request: RunRequest;
  /** The second try follows an answer after which nothing had begun. */
  readonly attempt: "first" | "second";
}

/** The leftovers of an ended run on its machine. */
export type RemoteRemains =
  /** It was rejected before it was sent. */
  | { readonly kind: "nothing" }
  /** `isDirectoryClean`: its working directory is empty, and can serve another run. */
  | { readonly kind: "files"; readonly bytes: number; readonly isDirectoryClean: boolean };

const NEXT: Readonly<Record<RemoteRunState["kind"], readonly RemoteRunState["kind"][]>> = {
  sent: ["answered", "seen", "stopping", "ended"],
  answered: ["installing", "found", "stopping", "ended"],
  installing: ["sent", "found", "stopping", "ended"],
  seen: ["seen", "found", "stopping", "ended"], // seen -> seen carries the claim
  found: ["found", "stopping", "ended"],
  stopping: ["ended"],
  ended: [],
};

export const canMove = (from: RemoteRunState["kind"], to: RemoteRunState["kind"]): boolean =>
  NEXT[from].includes(to);

export class RemoteRun {
  readonly id: RunId;
  readonly key: string;
  readonly terms: RemoteRunTerms;
  readonly graceMs: number;
  #state: RemoteRunState;
  #hasBegun: boolean;
  #heardAtMs = 0;
  #sentAtMs = 0;
  #startedAtMs: number;
  /** Other runs of the chain wait for its end: it is polled sooner. */
  isFollowed = false;
  /** After its end in a chain: the kind of run that may take its slot, and the run that has it. */
  freed: { readonly kind: string; readonly follower: RunId | undefined } | undefined;

  constructor(
    id: RunId,
    terms: RemoteRunTerms,
    graceMs: number,
    state: Extract<RemoteRunState, { kind: "sent" | "found" | "ended" }>,
  ) {
    this.id = id;
    this.key = runKey(id);
    this.terms = terms;
    this.graceMs = graceMs;
    this.#state = state;
    this.#hasBegun = state.kind === "found";
    this.#startedAtMs = terms.sentAtMs;
  }

  get state(): RemoteRunState {
    return this.#state;
  }

  move(to: RemoteRunState): void {
    const from = this.#state.kind;
    invariant(canMove(from, to.kind), `run ${this.key} cannot go from ${from} to ${to.kind}`);
    this.#state = to;
  }

  /** undefined: only its sending is known. */
  get report(): RunReport | undefined {
    if (this.#state.kind === "ended") return this.#state.report;
    return this.#hasBegun ? { kind: "running", startedAtMs: this.#startedAtMs } : undefined;
  }

  /** In a chain it begins later than it was sent. */
  startedAt(ms: number | undefined): void {
    if (ms !== undefined) this.#startedAtMs = ms;
  }

  /** Its machine has it. False: that was known before. */
  begin(): boolean {
    if (this.#hasBegun || this.#state.kind === "ended") return false;
    this.#hasBegun = true;
    return true;
  }

  /** The command that starts it was sent, perhaps once more. */
  sent(nowMs: number): void {
    this.#sentAtMs = nowMs;
    this.heard(nowMs);
  }

  get sentAtMs(): number {
    return this.#sentAtMs;
  }

  /** It was sent, or a report of it arrived. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
  }

  /** When to poll it if no report arrives; a stop polls by itself. */
  get lookAtMs(): number {
    return this.#heardAtMs + this.patienceMs;
  }

  get patienceMs(): number {
    switch (this.#state.kind) {
      case "sent":
      case "installing":
      case "seen":
        return this.isFollowed ? limits.remoteChainMs : limits.remoteSurveyMs;
      case "answered":
      case "found":
        return limits.remoteFoundMs; // nothing will report its end
      case "stopping":
      case "ended":
        return Number.POSITIVE_INFINITY;
    }
  }
}
