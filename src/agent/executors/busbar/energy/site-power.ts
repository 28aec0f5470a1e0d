import type { Power } from "../../../../core/model/node/power.ts";
import { type EdgeBelow, powerOfSite, type SharesBelow } from "./power-of-site.ts";

/**
 * The power of a site's edges, as last observed. An observation takes time, and shares arrive and begin meanwhile: its free
 * edges hold for the shares that existed when it began.
 */
export class SitePower {
  readonly #shares: () => SharesBelow;
  readonly #known = Promise.withResolvers<void>();
  #nodes: readonly EdgeBelow[] = [];
  #seen: SharesBelow = { active: 0, waiting: 0 };
  #isSeen = false;
  #onChange: () => void = () => undefined;

  constructor(shares: () => SharesBelow) {
    this.#shares = shares;
    if (shares().active > 0) this.#known.resolve();
  }

  /** Resolves when the site has a node with power, or a share of an earlier process. */
  get known(): Promise<void> {
    return this.#known.promise;
  }

  /** Call this when an observation of the nodes begins; call the result with the nodes. */
  observing(): (nodes: readonly EdgeBelow[]) => void {
    const seen = this.#shares();
    return (nodes) => {
      this.#nodes = nodes;
      this.#seen = seen;
      this.#isSeen = true;
      if (nodes.some(({ power }) => power !== undefined)) this.#known.resolve();
      this.#onChange();
    };
  }

  /** The site could not be observed, or is below itself: it accepts no more shares, and keeps its assigned ones. */
  notObserved(): void {
    if (!this.#isSeen) return;
    this.#isSeen = false;
    this.#onChange();
  }

  onChange(listener: () => void): void {
    this.#onChange = listener;
  }

  now(): Power {
    const power = powerOfSite(this.#nodes, this.#seen);
    if (this.#isSeen) return power;
    const { active } = this.#shares();
    const { edges, capacity } = power.site ?? { edges: 0, capacity: {} };
    const site = { edges, capacity, shares: Math.max(1, active) };
    // The server would take back the shares of a node without power, and the site's power is unknown, not zero.
    const { changes: _, ...rest } = power;
    return { ...rest, watts: active === 0 ? 0 : Math.max(1, power.watts), site };
  }
}
