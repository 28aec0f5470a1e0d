import type { NodeRecord } from "../nodes/node-record.ts";
import type { Request } from "../request.ts";

/** Ranks nodes that fit: the highest score gets the task. Pure. */
export interface Scorer {
  readonly name: string;
  /** Which nodes to look at first, when there are more than one placement may look at. */
  readonly order: "most-free-first" | "least-free-first";
  score(request: Request, record: NodeRecord): number;
}
