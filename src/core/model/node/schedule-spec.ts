import { invalid } from "../../../lib/errors.ts";
import { parseDurationMs } from "../../../lib/units.ts";
import { limits } from "../../../limits.ts";

/** The power of the edges of a simulation: each has its own steps from one seed, or all have the same. */
export type ScheduleSpec =
  | { readonly kind: "seed"; readonly seed: number }
  | { readonly kind: "constant"; readonly watts: number }
  /** By the time after the start; before the first step it has none. */
  | { readonly kind: "steps"; readonly steps: readonly PowerStep[] };

/** From a time on, until the next step. */
export interface PowerStep {
  readonly fromMs: number;
  readonly watts: number;
}

/** `100W`, `2kW`, or whole watts: `100`. */
export function parseWatts(text: string, field: string): number {
  const [, amount = "", kilo = ""] = /^(\d{1,10}(?:\.\d{1,3})?)(k?)W?$/.exec(text) ?? [];
  const watts = amount === "" ? Number.NaN : Number(amount) * (kilo === "k" ? 1_000 : 1);
  if (Number.isInteger(watts) && watts <= limits.wattsMax) return watts;
  throw invalid(
    field,
    `${JSON.stringify(text.slice(0, 40))} is not a power; write it like 100W or 2kW`,
  );
}

/** Lines like `10m 50W`: 50 watts from ten minutes after the start on. Comments begin with #. */
export function parseScheduleFile(text: string, field: string): ScheduleSpec {
  const steps: PowerStep[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    const [when, watts, ...more] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (when === undefined || when === "") continue;
    const where = `${field}: line ${at + 1}`;
    if (watts === undefined || more.length > 0)
      throw invalid(where, "must be a time and a power, like 10m 50W");
    const step = { fromMs: parseDurationMs(when, where), watts: parseWatts(watts, where) };
    if (step.fromMs <= (steps.at(-1)?.fromMs ?? -1))
      throw invalid(where, "must come after the line before");
    steps.push(step);
  }
  if (steps.length === 0 || steps.length > limits.powerChangesMax) {
    throw invalid(field, `needs 1 to ${limits.powerChangesMax} lines like 10m 50W`);
  }
  return { kind: "steps", steps };
}

/** `seed:7`, or watts: `22`. */
export function parseSchedule(text: string, field: string): ScheduleSpec {
  const [, seed] = /^seed:(\d{1,9})$/.exec(text) ?? [];
  if (seed !== undefined) return { kind: "seed", seed: Number(seed) };
  const watts = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (watts <= limits.wattsMax) return { kind: "constant", watts };
  throw invalid(
    field,
    `${JSON.stringify(text)} is not a schedule; write seed:7, watts like 22, or a file of lines like 10m 50W`,
  );
}
