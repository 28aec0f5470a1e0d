import { invalid } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { isShareResource } from "./job/energy.ts";

/**
 * Named quantities as whole numbers in base units: cpu in thousandths, memory and disk in
 * bytes, gpu in devices, power in watts, any other name in whole units. A name that is absent means none.
 */
export type Resources = Readonly<Record<string, number>>;

export const NO_RESOURCES: Resources = Object.freeze({});

/** The base units in one unit as people write it. */
const baseUnits = (name: string): number => (name === "cpu" ? 1_000 : 1);

export const RESOURCE_NAME_RULE = {
  maxLength: 63,
  // A name like "constructor" would be found on nodes that have none of it.
  pattern: "^(?!constructor$)[a-z][a-z0-9]*([._/-][a-z0-9]+)*$",
} as const satisfies Rule;
const NAME = new RegExp(RESOURCE_NAME_RULE.pattern);

/** For amounts as people write them: whole units, and thousandths of a cpu. */
export const AMOUNTS_RULE = {
  propertyNames: RESOURCE_NAME_RULE,
  properties: {
    cpu: {
      minimum: 0,
      maximum: 1_000_000_000, // thousandths of more are not exact
      multipleOf: 1 / baseUnits("cpu"),
    },
  },
  additionalProperties: { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, multipleOf: 1 },
} as const satisfies Rule;

const ruleOf = (name: string): { readonly maximum: number; readonly multipleOf: number } =>
  name === "cpu" ? AMOUNTS_RULE.properties.cpu : AMOUNTS_RULE.additionalProperties;

export const isResourceName = (name: string): boolean =>
  name.length <= RESOURCE_NAME_RULE.maxLength && NAME.test(name) && !(name in NO_RESOURCES);

/** Converts amounts as people write them (cpu in cpus) to base units; leaves out zero amounts. */
export function toResources(
  amounts: Readonly<Record<string, number>>,
  field: string,
  namesMax: number,
): Resources {
  const names = Object.keys(amounts).sort();
  if (names.length > namesMax)
    throw invalid(field, `at most ${namesMax} names, not ${names.length}`);
  const result: Record<string, number> = {};
  for (const name of names) {
    if (!isResourceName(name)) {
      throw invalid(
        field,
        `${JSON.stringify(name.slice(0, 70))} is not a resource name, like "gpu"`,
      );
    }
    const amount = toBase(name, amounts[name] ?? 0, `${field}.${name}`);
    if (amount > 0) result[name] = amount;
  }
  return result;
}

function toBase(name: string, amount: number, field: string): number {
  const base = amount * baseUnits(name);
  const rounded = Math.round(base);
  if (!(amount >= 0)) throw invalid(field, `must be a number from 0, not ${amount}`);
  const { maximum, multipleOf } = ruleOf(name);
  if (amount > maximum) throw invalid(field, `${amount} is too large`);
  // 0.3 of a cpu is not exactly 300 thousandths in floating point; whole units are exact.
  const inexact = multipleOf === 1 ? 0 : Math.max(1e-9, base * 2 ** -51);
  if (Math.abs(base - rounded) > inexact) {
    throw invalid(field, `must be a multiple of ${multipleOf}, not ${amount}`);
  }
  return rounded;
}

/** Converts base units back to what people write. */
export function fromResources(resources: Resources): Record<string, number> {
  const result: Record<string, number> = {};
  for (const name in resources) {
    if (!isShareResource(name)) result[name] = (resources[name] ?? 0) / baseUnits(name);
  }
  return result;
}

const GIB = 1024 ** 3;

/** People write and read these with a unit: "4GiB". */
export const BYTE_RESOURCES: readonly string[] = ["memory", "disk"];
export const isInBytes = (name: string): boolean => BYTE_RESOURCES.includes(name);

/** One amount as text: "2.5 cpu", "1.5 GiB memory", "3 gpu". */
export function formatAmount(name: string, base: number): string {
  if (!isInBytes(name)) return `${base / baseUnits(name)} ${name}`;
  return base >= GIB
    ? `${Math.round((base / GIB) * 10) / 10} GiB ${name}`
    : `${Math.round((base / 1024 ** 2) * 10) / 10} MiB ${name}`;
}

export function fits(needs: Resources, free: Resources): boolean {
  for (const name in needs) if ((needs[name] ?? 0) > (free[name] ?? 0)) return false;
  return true;
}

/** The first name (in their order) of which there is too little, for reasons. */
export function shortage(needs: Resources, free: Resources): string | undefined {
  for (const name in needs) if ((needs[name] ?? 0) > (free[name] ?? 0)) return name;
  return undefined;
}

/** Nodes of earlier versions may have an amount named "constructor". */
function ownAmount(amounts: Resources, name: string): number {
  const amount = amounts[name];
  return typeof amount === "number" ? amount : 0; // a third faster than hasOwn
}

/** Amounts of a node as its agent reports them, in base units. */
export function checkAmountNames(amounts: Resources, field: string): void {
  for (const name of Object.keys(amounts)) {
    if (isResourceName(name)) continue;
    const shown = JSON.stringify(name.slice(0, 70));
    throw invalid(field, `${shown} is not a resource name, like "gpu"`);
  }
}

export function addInto(target: Record<string, number>, amounts: Resources): void {
  for (const name in amounts) target[name] = ownAmount(target, name) + (amounts[name] ?? 0);
}

/** Removes amounts that reach zero, so that a table of used amounts stays small. */
export function subtractFrom(target: Record<string, number>, amounts: Resources): void {
  for (const name in amounts) {
    const left = ownAmount(target, name) - (amounts[name] ?? 0);
    if (left === 0) delete target[name];
    else target[name] = left;
  }
}

/** The largest part of `total` that `amounts` takes, over all names: 0 … 1 (or Infinity). */
export function dominantShare(amounts: Resources, total: Resources): number {
  let share = 0;
  for (const name in amounts) {
    const amount = amounts[name] ?? 0;
    if (amount > 0) share = Math.max(share, amount / (total[name] ?? 0));
  }
  return share;
}
