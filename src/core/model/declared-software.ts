import type { ClusterId } from "./ids.ts";
import type { FactEntry, Software } from "./node/node-facts.ts";

/**
 * A subsystem that was added to a managed cluster: entries that hold for all its nodes, or for those
 * named, in addition to the facts of their agents.
 */
export interface DeclaredSoftware {
  readonly id: ClusterId;
  readonly name: string;
  readonly entries: readonly {
    /** Undefined: all nodes, also future ones. */
    readonly node?: string | undefined;
    readonly entry: FactEntry;
  }[];
}

/** The facts of a node from its agent, together with declared software. */
export function withDeclared(
  software: Software,
  declared: Iterable<DeclaredSoftware>,
  node: string,
): Software {
  let merged: Record<string, readonly FactEntry[]> | undefined;
  for (const { name, entries } of declared) {
    const own = entries.filter((each) => each.node === undefined || each.node === node);
    if (own.length === 0) continue;
    merged ??= { ...software };
    const present = Object.hasOwn(merged, name) ? (merged[name] ?? []) : [];
    merged[name] = [...present, ...own.map(({ entry }) => entry)];
  }
  return merged ?? software;
}
