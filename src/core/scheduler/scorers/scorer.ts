import type { NodeRecord } from "../nodes/node-record.ts";
import type { Request } from "../request.ts";

/** Ranks nodes that fit: the highest score gets the task. Pure. */
export interface Scorer {
  readonly name: string;
  /** Which nodes to look at first, when there are more than one placement may look at. */
  readonly order: "emptiest-first" | "fullest-first";
  score(request: Request, record: NodeRecord): number;
  /** Between equal scores: the highest gets the task. Absent: the first by name does. */
  tie?(record: NodeRecord): number;
}
