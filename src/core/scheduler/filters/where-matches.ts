import type { Filter, Verdict } from "./filter.ts";
import { YES } from "./filter.ts";

const never = (reason: string): Verdict => ({ kind: "never", reason });

/** Rejects nodes the job did not ask for: by cluster, by name, by label. */
export const whereMatches: Filter = {
  name: "where-matches",
  check({ where }, { node }) {
    if (node.clusterAgent !== undefined) return never("speaks for a cluster that pulls");
    if (where.kind === "pulling") return never("only clusters that pull are asked for");
    if (where.cluster !== undefined && where.cluster !== node.cluster) {
      return never(`not in cluster ${where.cluster}`);
    }
    if (where.node !== undefined && where.node !== node.id) {
      return never(`not the node asked for (${where.node})`);
    }
    for (const name in where.labels) {
      const asked = where.labels[name] ?? "";
      if (node.labels[name] !== asked) return never(`label ${name} is not ${asked}`);
    }
    return YES;
  },
};
