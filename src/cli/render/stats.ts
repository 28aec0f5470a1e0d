import { formatBytes } from "../../lib/units.ts";
import type { StatsRow } from "../rows.ts";
import { countsText } from "./jobs.ts";
import type { TerminalPage } from "./page.ts";
import { renderFields } from "./table.ts";
import { cpuTime, elapsed, usage } from "./values.ts";

/** Empty: nodes have begun none by themselves. */
const aheadText = ({ heldBegun, heldReturned }: StatsRow): string =>
  heldBegun + heldReturned === 0 ? "" : `${heldBegun} started by nodes, ${heldReturned} returned`;

export function renderStats(stats: StatsRow, server: string, page: TerminalPage): string {
  const resources = Object.keys(stats.capacity)
    .sort()
    .map((name): [string, string] => [name, `${usage(name, stats)} in use`]);
  return renderFields(
    [
      ["Server", `${server}, busbar ${stats.version}, up ${elapsed(stats.uptimeMs)}`],
      ["Jobs", countsText(stats.jobs) || "none"],
      ["Tasks", countsText(stats.tasks) || "none"],
      ["Nodes", countsText(stats.nodes) || "none"],
      ...resources,
      ["Store", `${stats.store}, revision ${stats.revision}`],
      [
        "Commits",
        `${stats.commits}, ${stats.commitMsMean.toFixed(2)} ms on average, ` +
          (stats.commitMsP99 > 0 ? `99 % within ${stats.commitMsP99.toFixed(2)} ms, ` : "") +
          `${stats.commitMsMax.toFixed(2)} ms at most`,
      ],
      ["Placements", String(stats.placements)],
      ["Tasks ended", String(stats.tasksEnded)],
      ["Fetched ahead", aheadText(stats)],
      ["CPU of tasks", cpuTime(stats)],
      ["Agents", `${stats.agentSessions} connected`],
      ["Watches", String(stats.watches)],
      ["Memory", formatBytes(stats.memoryBytes)],
    ],
    page,
  );
}
