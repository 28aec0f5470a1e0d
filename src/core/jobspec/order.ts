import type { JobspecItem } from "./model.ts";
import { reportProblem, type Place, quote } from "./read/reader.ts";

/** The dependencies of an item and its descendants outside of the item. */
function waitsFor(item: JobspecItem): ReadonlySet<string> {
  const paths = new Set(item.dependsOn);
  if (item.kind === "task") return paths;
  for (const inner of item.items) for (const path of waitsFor(inner)) paths.add(path);
  return new Set([...paths].filter((path) => !path.startsWith(`${item.path}/`)));
}

/**
 * The siblings on which each item depends, by itself or by a descendant. Only siblings can form a
 * cycle: no item can name a descendant of another.
 */
export function siblingOrder(
  items: readonly JobspecItem[],
): ReadonlyMap<JobspecItem, readonly JobspecItem[]> {
  const byPath = new Map(items.map((item) => [item.path, item]));
  return new Map(
    items.map((item) => [
      item,
      [...waitsFor(item)].flatMap((path) => byPath.get(path) ?? []).filter((each) => each !== item),
    ]),
  );
}

/**
 * Siblings in the order of the document, but each after its dependencies. Requires that there is no
 * cycle.
 */
export function inOrder(items: readonly JobspecItem[]): readonly JobspecItem[] {
  const order = siblingOrder(items);
  const sorted = new Set<JobspecItem>();
  walk(items, order, (item) => sorted.add(item));
  return [...sorted];
}

export function reportCycles(
  items: readonly JobspecItem[],
  places: ReadonlyMap<string, Place>,
): void {
  const circle = walk(items, siblingOrder(items), () => undefined);
  if (circle !== undefined) {
    const [first] = circle;
    const place = first === undefined ? undefined : places.get(first.path);
    if (place !== undefined) reportProblem(place, describe(circle));
  }
  for (const item of items) if (item.kind === "group") reportCycles(item.items, places);
}

function describe(circle: readonly JobspecItem[]): string {
  const steps = circle.map((item, at) => {
    const next = circle[(at + 1) % circle.length] ?? item;
    const isOwn = item.dependsOn.includes(next.path);
    return `${isOwn ? "" : "something in "}${quote(item.name)} waits for ${quote(next.name)}`;
  });
  return `waits for itself: ${steps.join(", ")}`;
}

/**
 * Depth first without recursion: a chain may have thousands of items. Returns the first cycle
 * found.
 */
function walk(
  items: readonly JobspecItem[],
  order: ReadonlyMap<JobspecItem, readonly JobspecItem[]>,
  leave: (item: JobspecItem) => void,
): readonly JobspecItem[] | undefined {
  const state = new Map<JobspecItem, "open" | "done">();
  for (const start of items) {
    const path: { readonly item: JobspecItem; next: number }[] = [];
    const enter = (item: JobspecItem): void => {
      state.set(item, "open");
      path.push({ item, next: 0 });
    };
    if (!state.has(start)) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const after = order.get(top.item)?.[top.next];
      top.next += 1;
      if (after === undefined) {
        state.set(top.item, "done");
        leave(top.item);
        path.pop();
      } else if (state.get(after) === "open") {
        return path.map(({ item }) => item).slice(path.findIndex(({ item }) => item === after));
      } else if (!state.has(after)) enter(after);
    }
  }
  return undefined;
}
