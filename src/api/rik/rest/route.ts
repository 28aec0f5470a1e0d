import type { RikPrincipal } from "../../../core/access/principal.ts";
import type { Random } from "../../../ports/random.ts";
import type { RikCallers } from "../callers.ts";
import type { InstanceBook } from "../controllers/instance-book.ts";
import type { InstanceLifecycle } from "../controllers/lifecycle.ts";
import { restOf } from "../translate.ts";
import type { RikWorkers } from "../workers/workers.ts";
import type { RikWorkload, WorkloadBook } from "../workloads/workload-book.ts";
import type { Workloads } from "../workloads/workloads.ts";
import { notFound, type RestAnswer } from "./exchange.ts";
import type { RestRecords } from "./records.ts";

export interface RestParts {
  readonly records: RestRecords;
  readonly workloadBook: WorkloadBook;
  readonly workloads: Workloads;
  readonly book: InstanceBook;
  readonly lifecycle: InstanceLifecycle;
  readonly workers: RikWorkers;
  readonly callers: RikCallers;
  readonly random: Random;
}

/** One request. */
export interface RestCall {
  readonly principal: RikPrincipal;
  /** As it was sent. */
  readonly body: string;
  /** The part after the name of the route. */
  readonly id: string;
}

export type Route = (parts: RestParts, call: RestCall) => Promise<RestAnswer>;

export const NO_CONTENT: RestAnswer = { status: 204 };
export const DELETED = "deleted by a REST user";

export const ownerOf = ({ principal }: RestCall): string => restOf(principal.name);

/** Owned by the caller, and not deleted. */
export function workloadOf({ workloadBook }: RestParts, call: RestCall, id: string): RikWorkload {
  const workload = workloadBook.get(id);
  if (workload === undefined || workload.isEnding || workload.owner !== ownerOf(call)) {
    throw notFound(`Workload id ${id} not found`);
  }
  return workload;
}
