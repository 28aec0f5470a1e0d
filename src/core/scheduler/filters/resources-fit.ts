import { fits, formatAmount, shortage } from "../../model/resources.ts";
import type { Resources } from "../../model/resources.ts";
import type { Filter } from "./filter.ts";
import { YES } from "./filter.ts";

/** Rejects nodes without room. Says `never` when even the empty node is too small. */
export const resourcesFit: Filter = {
  name: "resources-fit",
  check({ needs }, { node, free }) {
    if (fits(needs, free)) return YES;
    const small = shortage(needs, node.capacity);
    if (small !== undefined) {
      return { kind: "never", reason: `too small: ${compare(small, needs, node.capacity, "has")}` };
    }
    const busy = shortage(needs, free) ?? "";
    return { kind: "not-now", reason: `busy: ${compare(busy, needs, free, "free")}` };
  },
};

function compare(name: string, needs: Resources, there: Resources, word: "has" | "free"): string {
  const asked = formatAmount(name, needs[name] ?? 0);
  const amount = formatAmount(name, Math.max(0, there[name] ?? 0));
  return word === "has" ? `has ${amount}, ${asked} asked` : `${amount} free, ${asked} asked`;
}
