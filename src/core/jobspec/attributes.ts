import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import {
  type Attributes,
  type Jobspec,
  type NameChoice,
  type NamedResource,
  NO_ATTRIBUTES,
} from "./model.ts";

/** The outer attributes, overridden by the inner ones; environment variables one by one. */
export function mergeAttributes(outer: Attributes, inner: Attributes): Attributes {
  return {
    durationMs: inner.durationMs ?? outer.durationMs,
    cwd: inner.cwd ?? outer.cwd,
    environment: { ...outer.environment, ...inner.environment },
    extras: { ...outer.extras, ...inner.extras },
  };
}

/**
 * The attributes of all named resources together. Alternatives agree: `disagreements` checks that.
 */
export function attributesOfResources(
  resources: ReadonlyMap<string, NamedResource>,
  asks: NameChoice | undefined,
): Attributes {
  let merged = NO_ATTRIBUTES;
  for (const name of asks?.flat() ?? []) {
    merged = mergeAttributes(merged, resources.get(name)?.attributes ?? NO_ATTRIBUTES);
  }
  return merged;
}

/**
 * The attributes that apply to an item. From the outside in: the document; then for each group
 * around the item, and last for the item, first the attributes of its resources and then its own.
 */
export function effectiveAttributes(
  jobspec: Jobspec,
  chain: readonly { readonly asks: NameChoice | undefined; readonly attributes: Attributes }[],
): Attributes {
  return chain.reduce(
    (outer, { asks, attributes }) =>
      mergeAttributes(
        mergeAttributes(outer, attributesOfResources(jobspec.resources, asks)),
        attributes,
      ),
    jobspec.attributes,
  );
}

/** Attributes as single values with their names: "cwd", "environment.PATH". */
function flatten(attributes: Attributes): ReadonlyMap<string, unknown> {
  const { durationMs, cwd, environment, extras } = attributes;
  return new Map<string, unknown>(
    [
      ["duration", durationMs] as const,
      ["cwd", cwd] as const,
      ...Object.entries(environment).map(([key, value]) => [`environment.${key}`, value] as const),
      ...Object.entries(extras),
    ].filter(([, value]) => value !== undefined),
  );
}

/**
 * Attributes on which named resources disagree and that `own` does not override: two resources of
 * one alternative that contradict each other, or two alternatives that differ.
 */
export function disagreements(
  resources: ReadonlyMap<string, NamedResource>,
  asks: NameChoice,
  own: Attributes,
): readonly string[] {
  const settled = flatten(own);
  const wrong = new Set<string>();
  const ofAlternatives = asks.map((names) => {
    const together = new Map<string, unknown>();
    for (const name of names) {
      for (const [key, value] of flatten(resources.get(name)?.attributes ?? NO_ATTRIBUTES)) {
        if (together.has(key) && !isDeepEqual(together.get(key), value)) wrong.add(key);
        together.set(key, value);
      }
    }
    return together;
  });
  const [first, ...others] = ofAlternatives;
  for (const other of first === undefined ? [] : others) {
    for (const key of new Set([...(first?.keys() ?? []), ...other.keys()])) {
      if (!isDeepEqual(first?.get(key), other.get(key))) wrong.add(key);
    }
  }
  return [...wrong].filter((key) => !settled.has(key));
}
