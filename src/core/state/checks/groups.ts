import { isActive, usageOf } from "../../model/job/task.ts";
import { noUsage, tallyUsage } from "../../model/job/usage.ts";
import { addInto } from "../../model/resources.ts";
import { TASK_STATES } from "../../model/progress.ts";
import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";

/** The tallies of groups equal the sums over their jobs. */
export function checkGroups(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const byGroup = Map.groupBy(all, ({ job }) => job.spec.group);
  for (const { group, jobs, tasks, usage, used } of state.groups.values()) {
    const own = byGroup.get(group.id) ?? [];
    const spent = noUsage();
    const held: Record<string, number> = {};
    for (const { job, rows } of own) {
      for (const row of rows) {
        tallyUsage(spent, usageOf(row));
        if (isActive(row.state)) addInto(held, row.takes ?? job.spec.needs);
      }
    }
    if (JSON.stringify(spent) !== JSON.stringify(usage))
      wrong.push(`group ${group.id} used ${JSON.stringify(usage)}, not ${JSON.stringify(spent)}`);
    for (const name of new Set([...Object.keys(held), ...Object.keys(used)])) {
      if ((held[name] ?? 0) !== (used[name] ?? 0))
        wrong.push(`group ${group.id} holds ${used[name]} ${name}, its tasks ${held[name]}`);
    }
    for (const [name, count] of Object.entries(jobs)) {
      const has = own.filter(({ progress }) => progress.state === name).length;
      if (has !== count) wrong.push(`group ${group.id} counts ${count} jobs ${name}, has ${has}`);
    }
    for (const name of TASK_STATES) {
      const sum = own.reduce((total, { progress }) => total + progress.counts[name], 0);
      if (sum !== tasks[name])
        wrong.push(`group ${group.id} counts ${tasks[name]} ${name}, has ${sum}`);
    }
  }
  return wrong;
}

/** The totals equal the sums over all groups. */
export function checkTotals({ groups, totals }: State): string[] {
  const wrong: string[] = [];
  for (const what of ["jobs", "tasks"] as const) {
    for (const [name, total] of Object.entries(totals[what])) {
      const counts = groups.values().map((group): Readonly<Record<string, number>> => group[what]);
      const sum = counts.reduce((all, own) => all + (own[name] ?? 0), 0);
      if (sum !== total) wrong.push(`${total} ${what} are ${name}, ${sum} by their groups`);
    }
  }
  return wrong;
}
