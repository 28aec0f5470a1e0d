import { stepShapeOf } from "../../core/jobspec/write/to-steps.ts";
import type { RunRequest } from "../../ports/executor.ts";
import type { LowerShape } from "./scheduler.ts";

const CPU_UNITS = 1_000; // of one cpu

/**
 * The processes of a plain run and their resources: one process for each slot of its graph request, otherwise one with all requested
 * resources.
 */
export function shapeOfRun({ request, needs }: Pick<RunRequest, "request" | "needs">): LowerShape {
  if (request !== undefined && request.length > 0) {
    const processes = { kind: "per-slot", count: 1 } as const;
    return stepShapeOf({ isLocal: false, processes, resources: request });
  }
  return {
    nodes: needs["nodes"] === undefined || needs["nodes"] < 1 ? undefined : needs["nodes"],
    processes: Math.max(1, needs["nodes"] ?? 1),
    coresPerProcess: Math.ceil((needs["cpu"] ?? 0) / CPU_UNITS),
    gpusPerProcess: needs["gpu"] ?? 0,
    memoryBytesPerProcess: needs["memory"] ?? 0,
    isExclusive: false,
  };
}
