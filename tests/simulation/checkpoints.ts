import { isDeepEqual } from "../../src/lib/is-deep-equal.ts";
import type { Run } from "./durable.ts";
import { formatRun } from "./durable.ts";
import { checkHeld } from "./held.ts";
import { comparable } from "./watcher.ts";
import type { World } from "./world.ts";

/** From when nothing is in the way any more to the end of an unwanted process. */
export const STOPS_WITHIN_MS = 60_000;
const CHECKPOINT_MS = 5_000;

/** Checks everything every few virtual seconds, until the run ends. */
export function startCheckpoints(world: World): void {
  const { server, watchers, timeline } = world;
  const unwantedSinceMs = new Map<string, number>();
  const look = (): void => {
    server.checkIndexes();
    checkUnwanted(world, unwantedSinceMs);
    checkHeld(world);
    for (const watcher of watchers) watcher.check();
    timeline.after(CHECKPOINT_MS, look);
  };
  look();
}

/** Unwanted processes end soon after their node has recovered. */
function checkUnwanted(world: World, sinceByRun: Map<string, number>): void {
  const { witness, timeline, hosts } = world;
  for (const host of hosts) {
    for (const run of host.machine.running) {
      const key = describe(host.name, run);
      if (witness.durable.isWanted(run, host.name)) {
        sinceByRun.delete(key);
        continue;
      }
      const sinceMs = sinceByRun.get(key) ?? timeline.nowMs;
      sinceByRun.set(key, sinceMs);
      if (!world.server.isUp || !host.isUp) continue;
      const wellSinceMs = Math.max(
        sinceMs,
        host.startedAtMs,
        world.server.startedAtMs,
        world.network.troubledAtMs(host.name),
      );
      const isLate = timeline.nowMs - wellSinceMs > STOPS_WITHIN_MS;
      witness.judge("old-attempts-are-stopped", isLate ? `${key} still runs` : undefined);
    }
  }
}

const describe = (node: string, run: Run): string => `${node} ${formatRun(run)}`;

/** The first job that has not ended; undefined when all have. */
export function unfinished({ witness: { durable } }: World): string | undefined {
  for (const job of durable.jobs.values()) {
    const left = durable.unfinished(job);
    if (left > 0) return `job ${job.id} has ${left} unfinished tasks`;
  }
  return undefined;
}

/** Everything has ended and nothing happens any more: memory, disk, machines and watchers agree. */
export async function checkEnd(world: World): Promise<void> {
  const { witness, server, timeline } = world;
  for (const { name, machine } of world.hosts) {
    const [run] = machine.running;
    const text = run === undefined ? undefined : `${describe(name, run)} runs at the end`;
    witness.judge("old-attempts-are-stopped", text);
  }
  witness.checkPromises();
  server.checkIndexes();
  if (server.state !== undefined) server.checkMemory(server.state);
  await checkWatchers(world);
  const stopped = server.stop();
  await timeline.pass(10_000);
  await stopped;
}

async function checkWatchers({ witness, server, timeline, watchers }: World): Promise<void> {
  const operations = server.attach(() => undefined);
  if (operations === undefined) return;
  const listed = operations.listJobs({}, { pageSize: 1_000 });
  await timeline.pass(1);
  const { jobs } = await listed;
  const want = new Map(jobs.map((job) => [job.id, comparable(job)]));
  for (const watcher of watchers) {
    const have = [...watcher.jobs.values()];
    const wrong = have.find((job) => !isDeepEqual(comparable(job), want.get(job.id)));
    const text =
      wrong === undefined
        ? `has ${have.length} jobs, not ${want.size}`
        : `has job ${wrong.id} as ${wrong.state} ${JSON.stringify(wrong.tasks)}`;
    const isSame = wrong === undefined && have.length === want.size;
    witness.judge("watched-view-agrees", isSame ? undefined : `a watcher ${text}`);
    watcher.close();
  }
}
