import { invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";
import { binpack } from "./binpack.ts";
import { cheapest } from "./cheapest.ts";
import { constraint } from "./constraint.ts";
import { first } from "./first.ts";
import { leastLoaded } from "./least-loaded.ts";
import { mostPower } from "./most-power.ts";
import { random } from "./random.ts";
import { roundRobin } from "./round-robin.ts";
import { spread } from "./spread.ts";
import type { Strategy } from "./strategy.ts";

const strategies: readonly Strategy[] = [
  random,
  first,
  roundRobin,
  leastLoaded,
  binpack,
  spread,
  cheapest,
  mostPower,
  constraint,
];

export const strategyNames: readonly string[] = strategies.map(({ name }) => name);

export function strategyByName(name: string): Strategy {
  const found = strategies.find((strategy) => strategy.name === name);
  if (found !== undefined) return found;
  const meant = nearest(name, strategyNames);
  const hint =
    meant === undefined ? `there are ${strategyNames.join(", ")}` : `did you mean ${meant}?`;
  throw invalid("select", `${JSON.stringify(name.slice(0, 40))} is not a strategy; ${hint}`);
}
