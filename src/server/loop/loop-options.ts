import type { Planner, PlanPolicy } from "../../core/scheduler/plan.ts";
import type { AnswerTo, Command, CommandOf } from "../../core/state/command.ts";
import type { State } from "../../core/state/state.ts";
import type { AppError } from "../../lib/errors.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Store } from "../../ports/store.ts";
import type { Commit } from "./open-batch.ts";

/** A command that goes along with a commit, and the callbacks for its outcome. */
export interface Rider<K extends Command["kind"] = Command["kind"]> {
  readonly command: CommandOf<K>;
  readonly resolve: (answer: AnswerTo<K>) => void;
  readonly reject: (error: unknown) => void;
}

export interface LoopOptions {
  readonly state: State;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: PlanPolicy;
  /** Proposes placements; `nextPlacement` unless a test passes a faulty planner. */
  readonly plan?: Planner;
  /** Calls `run` soon, after I/O had its turn: setImmediate outside simulations. */
  readonly soon: (run: () => void) => void;
  /** Called for each revision in order, when it is durable and before its answers go out. */
  readonly onCommit: (commit: Commit) => void;
  /** Changes that are not worth a commit of their own, for a commit that happens anyway; undefined: none. */
  readonly along?: () => Rider<"report-progress"> | undefined;
  /** The store or the loop failed: memory can no longer be trusted. Stop the process. */
  readonly onBroken: (error: AppError) => void;
}
