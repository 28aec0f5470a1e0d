import type { PackedGraph } from "../../core/graph/packed-graph.ts";
import type { PackedSubsystem } from "../../core/graph/subsystems/packed-subsystem.ts";
import type { CheckedJobspec } from "../../core/jobspec/read/parse.ts";
import type { ErrorCode } from "../../lib/errors.ts";

/** A thread's answer to one DocumentTask. */
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
  | {
      readonly kind: "subsystem";
      /** Undefined: the document has no name. */
      readonly drafts: readonly {
        readonly name: string | undefined;
        readonly packed: PackedSubsystem;
      }[];
    }
  /** An AppError: errors lose their class and their fields between threads. */
  | {
      readonly kind: "refused";
      readonly code: ErrorCode;
      readonly problem: string;
      readonly field: string | undefined;
    };
