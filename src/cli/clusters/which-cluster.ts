import type { BusbarClient } from "../../client/client.ts";
import { invalid } from "../../lib/errors.ts";
import { notEmpty } from "../flags.ts";

export const CLUSTER_FLAG = [
  "--cluster <name>",
  "the cluster (default: the registered one, if there is only one)",
  notEmpty("--cluster"),
] as const;

/** Most people register one cluster, and need not name it. */
export async function whichCluster(
  client: BusbarClient,
  given: string | undefined,
): Promise<string> {
  if (given !== undefined) return given;
  const { clusters } = await client.listClusters({});
  const names = clusters.filter(({ kind }) => kind === "pulling").map(({ name }) => name);
  const [only, ...others] = names;
  if (only === undefined) {
    throw invalid(
      "--cluster",
      "is missing, and none is registered: busbar cluster register --help",
    );
  }
  if (others.length > 0) throw invalid("--cluster", `is missing; there are ${listed(names)}`);
  return only;
}

const NAMES_SHOWN_MAX = 20;

function listed(names: readonly string[]): string {
  const more = names.length - NAMES_SHOWN_MAX;
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}
