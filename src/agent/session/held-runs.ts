import type { AheadRuns, RunEnd, RunId, RunRequest } from "../../ports/executor.ts";
import { runKey } from "../runs/run-key.ts";

export interface HeldStart {
  readonly id: RunId;
  /** As the server sent it. */
  readonly heldAtMs: number;
  /** Passes it to the executor. */
  readonly begin: () => void;
}

/** Whether the capacity that the run used is free on its node, and not requested by another start. */
export const makesRoom = ({ kind }: RunEnd): boolean =>
  kind === "exited" || kind === "signalled" || kind === "time-limit";

/**
 * The runs that the agent holds beyond its free capacity in one session. Each begins in the slot of an ended run with equal requests, in
 * the order of arrival. An executor that begins held runs itself (`ahead`) reports which, and must drop those that the agent returns.
 */
export class HeldRuns {
  readonly #ahead: AheadRuns | undefined;
  readonly #byKey = new Map<string, { readonly run: HeldStart; readonly needs: string }>();
  readonly #byNeeds = new Map<string, Map<string, HeldStart>>();

  constructor(ahead: AheadRuns | undefined) {
    this.#ahead = ahead;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  add(needs: string, run: HeldStart, request: () => RunRequest): void {
    const key = runKey(run.id);
    this.#byKey.set(key, { run, needs });
    const alike = this.#byNeeds.get(needs) ?? new Map<string, HeldStart>();
    this.#byNeeds.set(needs, alike);
    alike.set(key, run);
    this.#ahead?.hold(request());
  }

  /** Removes and returns the run that begins in the slot of an ended one. */
  nextAfter(ended: RunId, needs: string): HeldStart | undefined {
    const chosen = this.#ahead?.next(ended);
    if (chosen !== undefined) return this.withdraw(runKey(chosen)); // or it has begun already
    for (const key of this.#byNeeds.get(needs)?.keys() ?? []) return this.withdraw(key);
    return undefined;
  }

  /** Removes and returns it; undefined: it is not held, or has begun. */
  withdraw(key: string): HeldStart | undefined {
    const held = this.#byKey.get(key);
    if (held === undefined) return undefined;
    this.#byKey.delete(key);
    const alike = this.#byNeeds.get(held.needs);
    alike?.delete(key);
    if (alike?.size === 0) this.#byNeeds.delete(held.needs);
    return held.run;
  }

  /** Removes it if it never begins, otherwise reports that: at once, or when the executor knows. */
  release(id: RunId, told: { unbegun(held: HeldStart): void; begun?(): void }): void {
    const key = runKey(id);
    const unbegun = (): void => {
      const held = this.withdraw(key);
      if (held !== undefined) told.unbegun(held);
    };
    if (this.#ahead === undefined || !this.has(key)) return unbegun();
    this.#ahead.release(id).then(
      (isUnbegun) => (isUnbegun ? unbegun() : told.begun?.()),
      () => undefined, // the executor is closed, and so is this session
    );
  }

  clear(): void {
    const ids = Array.from(this.#byKey.values(), ({ run }) => run.id);
    this.#byKey.clear();
    this.#byNeeds.clear();
    for (const id of ids) void this.#ahead?.release(id).catch(() => undefined); // as above
  }
}
