import type { Resources } from "../resources.ts";

/** The tasks that the agent of a cluster can accept now: at most so many, as far as they fit. */
export interface TakeCapacity {
  readonly tasks: number;
  /** In base units, nodes included; resources that are not named are not limited. */
  readonly free: Resources;
}

export const TAKES_NOTHING: TakeCapacity = Object.freeze({ tasks: 0, free: Object.freeze({}) });
