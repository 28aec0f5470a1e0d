import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { WatchCaller } from "./watch-format.ts";

/**
 * Counts open watches by caller. No caller can occupy all places: the limits of a connection and of an address are lower than the total,
 * and the last places are reserved for watches of one job, which are short: a client that waits for its job opens one.
 */
export class WatchPlaces {
  #total = 0;
  readonly #byConnection = new WeakMap<object, number>();
  readonly #byAddress = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  /** Takes a place or throws; the returned function frees it, once. */
  take({ connection, address = "" }: WatchCaller, isOfOneJob: boolean): () => void {
    const reserve = isOfOneJob ? 0 : limits.watchesOfOneJobReserve;
    check(this.#total, limits.watchesMax - reserve, "on this server");
    const ofAddress = this.#byAddress.get(address) ?? 0;
    check(ofAddress, limits.watchesPerAddressMax - reserve, "from one address");
    const ofConnection = this.#byConnection.get(connection) ?? 0;
    check(ofConnection, limits.watchesPerConnectionMax, "on one connection");
    this.#add(connection, address, 1);
    let isTaken = true;
    return () => {
      if (isTaken) this.#add(connection, address, -1);
      isTaken = false;
    };
  }

  #add(connection: object, address: string, by: 1 | -1): void {
    this.#total += by;
    this.#byConnection.set(connection, (this.#byConnection.get(connection) ?? 0) + by);
    const left = (this.#byAddress.get(address) ?? 0) + by;
    if (left === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, left);
  }
}

function check(open: number, max: number, where: string): void {
  if (open < max) return;
  const words = `at most ${max} watches ${where} at once; close some, or poll instead`;
  throw new AppError("exhausted", words);
}
