import type { AheadRuns, RunEnd, RunId, RunRequest } from "../../ports/executor.ts";
import { runKey } from "../runs/run-key.ts";

export interface HeldStart {
  readonly id: RunId;
  /** As the server said. */
  readonly heldAtMs: number;
  /** Passes it to the executor. */
  readonly begin: () => void;
}

/** Whether a node has free what the run used, and nobody has asked for that. */
export const makesRoom = ({ kind }: RunEnd): boolean =>
  kind === "exited" || kind === "signalled" || kind === "time-limit";

/**
 * The runs that the agent holds beyond its free capacity in one session. Each begins in the place of an
 * ended run that requested the same; the one that came first begins first. An executor that begins held
 * runs itself (`ahead`) reports which, and must drop those that the agent returns.
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

  /** Takes out the one that is to begin in the place of a run that has ended. */
  nextAfter(ended: RunId, needs: string): HeldStart | undefined {
    const chosen = this.#ahead?.next(ended);
    if (chosen !== undefined) return this.withdraw(runKey(chosen)); // or it has begun already
    for (const key of this.#byNeeds.get(needs)?.keys() ?? []) return this.withdraw(key);
    return undefined;
  }

  /** Takes it out; undefined: it is not held, or has begun. */
  withdraw(key: string): HeldStart | undefined {
    const held = this.#byKey.get(key);
    if (held === undefined) return undefined;
    this.#byKey.delete(key);
    const alike = this.#byNeeds.get(held.needs);
    alike?.delete(key);
    if (alike?.size === 0) this.#byNeeds.delete(held.needs);
    return held.run;
  }

  /** Takes it out if it never begins, else says so: at once, or when the executor knows. */
  release(id: RunId, told: { unbegun(held: HeldStart): void; begun?(): void }): void {
    const key = runKey(id);
    const unbegun = (): void => {
      const held = this.withdraw(key);
      if (held !== undefined) told.unbegun(held);
    };
    if (this.#ahead === undefined || !this.has(key)) return unbegun();
    this.#ahead.release(id).then(
      (isUnbegun) => (isUnbegun ? unbegun() : told.begun?.()),
      () => undefined, // the executor is over, and this session with it
    );
  }

  clear(): void {
    const ids = Array.from(this.#byKey.values(), ({ run }) => run.id);
    this.#byKey.clear();
    this.#byNeeds.clear();
    for (const id of ids) void this.#ahead?.release(id).catch(() => undefined); // as above
  }
}
