import type { TrialRow } from "../rows.ts";
import { placesSections } from "./explanation.ts";
import { clean, type TerminalPage, paint } from "./page.ts";

/**
 * One tried job: the nodes of its tasks, how many would be pending, and why. `isAllowed`: it would be accepted though no registered node or
 * cluster can run it.
 */
export function renderTrial(row: TrialRow, isAllowed: boolean, page: TerminalPage): string {
  const lines = [
    `${paint(clean(row.name), "bold", page)}: ${count(row.tasks)}`,
    ...(row.possible || isAllowed ? outlook(row) : [refusal(page)]).map((line) => `  ${line}`),
  ];
  // The nodes that could run a task are full with the tasks above, which go first.
  const places = { ...row, clusters: row.clusters.filter(({ verdict }) => verdict !== "now") };
  return [lines.join("\n"), ...placesSections(places, undefined, page)].join("\n\n");
}

const refusal = (page: TerminalPage): string =>
  `${paint("would be refused", "red", page)}: no registered node or cluster can run this job`;

function outlook(row: TrialRow): readonly string[] {
  const { placements, waiting, untried } = row;
  const tasksByPlace = new Map<string, number>();
  for (const { cluster, node } of placements) {
    const place =
      node === undefined
        ? `would be offered to cluster ${clean(cluster)}`
        : `would start on node ${clean(node)} of cluster ${clean(cluster)}`;
    tasksByPlace.set(place, (tasksByPlace.get(place) ?? 0) + 1);
  }
  const why = whyWaiting(row);
  return [
    ...[...tasksByPlace].map(([place, tasks]) => `${count(tasks)} ${place}`),
    ...(waiting === 0
      ? []
      : [`${count(waiting)} would wait${why === undefined ? "" : `: ${clean(why)}`}`]),
    ...(untried === 0 ? [] : [`${count(untried)} not tried`]),
  ];
}

/** Undefined: the reasons of nodes and clusters are sufficient. */
function whyWaiting({ possible, reason, clusters }: TrialRow): string | undefined {
  if (!possible) return "no registered node or cluster can run this job";
  const isRoomNow = clusters.some(({ verdict }) => verdict === "now");
  return reason ?? (isRoomNow ? "there is free capacity only for tasks that go first" : undefined);
}

const count = (tasks: number): string => (tasks === 1 ? "1 task" : `${tasks} tasks`);
