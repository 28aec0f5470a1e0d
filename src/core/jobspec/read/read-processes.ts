import type { Processes } from "../model.ts";
import { reportProblem, countOf, fieldsOf, isMap, type Place } from "./reader.ts";

export const ONE_PER_SLOT: Processes = { kind: "per-slot", count: 1 };

/** Flux's {per_slot: 1} or {total: 5}. */
export function readProcesses(place: Place | undefined): Processes {
  if (place === undefined) return ONE_PER_SLOT;
  const fields = fieldsOf(place, ["per_slot", "total"]);
  const [perSlot, total] = [fields.get("per_slot"), fields.get("total")];
  if (perSlot !== undefined && total !== undefined) {
    reportProblem(place, "write either per_slot or total, not both");
  } else if (isMap(place) && perSlot === undefined && total === undefined) {
    reportProblem(place, 'needs "per_slot" or "total"');
  }
  if (total !== undefined) return { kind: "total", count: countOf(total) ?? 1 };
  return { kind: "per-slot", count: (perSlot && countOf(perSlot)) ?? 1 };
}
