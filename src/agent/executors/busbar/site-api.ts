import type { BusbarClient } from "../../../client/client.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";

/** The part of the API of the Busbar below that an agent above it uses. */
export type SiteApi = Pick<
  BusbarClient,
  | "server"
  | "submitJobs"
  | "listJobs"
  | "getJob"
  | "listTasks"
  | "getTask"
  | "cancelJob"
  | "explainJob"
  | "readOutput"
  | "watch"
  | "listNodes"
  | "listClusters"
  | "listGroups"
  | "getCluster"
  | "getClusterGraph"
  | "getSubsystem"
  | "countJobs"
>;

const PASSING: ReadonlySet<string> = new Set(["unavailable", "exhausted", "internal"]);

/** Whether another attempt may help. */
export const isPassing = (error: unknown): boolean =>
  !(error instanceof AppError) || PASSING.has(error.code);

export const isMissing = (error: unknown): boolean =>
  error instanceof AppError && error.code === "not_found";

/** Calls `act` for each item, some at a time. After an error it starts no more, and throws when those under way are done. */
export async function forEachOf<Item>(
  items: readonly Item[],
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items].reverse();
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined && failures.length === 0; item = left.pop()) {
      try {
        await act(item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const atOnce = Math.min(items.length, limits.siteCallsAtOnceMax);
  await Promise.all(Array.from({ length: atOnce }, work));
  if (failures.length > 0) throw failures[0];
}
