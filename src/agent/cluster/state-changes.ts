import type { Cluster } from "../../client/messages.ts";

const COUNTER = { key: "nodes_free", by: "nodes" } as const;

export interface StateChanges {
  readonly values: Readonly<Record<string, number>>;
  /** All counters after the update; undefined: they stay. */
  readonly counters: readonly { readonly key: string; readonly by: string }[] | undefined;
}

/**
 * The update that makes the server's state of the cluster the wanted one; undefined: none is needed. Keys that other clients set stay. Free
 * nodes count down between two refreshes, so that not all jobs of a second go to the cluster that was emptiest before it.
 */
export function stateChanges(
  { state, counters }: Pick<Cluster, "state" | "counters">,
  wanted: Readonly<Record<string, number>>,
): StateChanges | undefined {
  const told = new Map(
    state.map(({ key, value }) => [
      key,
      value?.value.case === "number" ? value.value.value : undefined,
    ]),
  );
  const values = Object.entries(wanted).filter(([key, value]) => told.get(key) !== value);
  const isCounted = !(COUNTER.key in wanted) || counters.some(({ key }) => key === COUNTER.key);
  if (values.length === 0 && isCounted) return undefined;
  return {
    values: Object.fromEntries(values),
    counters: isCounted ? undefined : [...counters, COUNTER],
  };
}
