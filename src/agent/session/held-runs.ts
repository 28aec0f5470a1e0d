import type { RunEnd, RunId } from "../../ports/executor.ts";

export interface HeldStart {
  readonly id: RunId;
  /** As the server said. */
  readonly heldAtMs: number;
  /** Hands it to the executor. */
  readonly begin: () => void;
}

/** Whether a node has free what the run used, and nobody has asked for that. */
export const makesRoom = ({ kind }: RunEnd): boolean =>
  kind === "exited" || kind === "signalled" || kind === "time-limit";

/** What one run needs, as text: equal for equal needs. */
export const needsKey = (needs: Readonly<Record<string, number>>): string =>
  JSON.stringify(Object.entries(needs).sort(([a], [b]) => (a < b ? -1 : 1)));

/**
 * The runs that the agent holds beyond its free capacity in one session. Each begins in the place of
 * one that needed the same and has ended, the one that came first at first.
 */
export class HeldRuns {
  readonly #byKey = new Map<string, { readonly run: HeldStart; readonly needs: string }>();
  readonly #byNeeds = new Map<string, Map<string, HeldStart>>();

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  add(key: string, needs: string, run: HeldStart): void {
    this.#byKey.set(key, { run, needs });
    const alike = this.#byNeeds.get(needs) ?? new Map<string, HeldStart>();
    this.#byNeeds.set(needs, alike);
    alike.set(key, run);
  }

  /** Takes out the one that is to begin where these needs are met. */
  next(needs: string): HeldStart | undefined {
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

  clear(): void {
    this.#byKey.clear();
    this.#byNeeds.clear();
  }
}
