import type { Resources } from "../resources.ts";

/** What the agent of a cluster takes now: at most so many tasks, as far as they fit. */
export interface TakeCapacity {
  readonly tasks: number;
  /** In base units, nodes too; resources that are not named are not limited. */
  readonly free: Resources;
}

export const TAKES_NOTHING: TakeCapacity = Object.freeze({ tasks: 0, free: Object.freeze({}) });
