import type { PackedGraph } from "../../core/graph/packed-graph.ts";
import type { CheckedJobspec } from "../../core/jobspec/parse.ts";
import type { ErrorCode } from "../../lib/errors.ts";

/** What a thread answers to one DocumentTask. */
export type ThreadAnswer =
  | {
      readonly kind: "jobspec";
      readonly checked: CheckedJobspec | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: "graph";
      readonly packed: PackedGraph | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  /** An AppError: errors lose their class and their fields between threads. */
  | {
      readonly kind: "refused";
      readonly code: ErrorCode;
      readonly message: string;
      readonly field: string | undefined;
    };
