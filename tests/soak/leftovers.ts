import { readdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { limits } from "../../src/limits.ts";
import { killChildrenOnExit } from "../crash/leave-nothing.ts";
import { Site } from "../support/busbar.ts";
import { helpersOf } from "../contract/executor/process-bed.ts";
import { pause } from "./load.ts";
import { sampleProcess } from "./sample.ts";

// `node tests/soak/leftovers.ts [--tasks 100000]`: short tasks through one agent, and their leftovers. Fails when a zombie, a descriptor, a
// launcher or a file of theirs stays.
killChildrenOnExit();
const { values } = parseArgs({ options: { tasks: { type: "string", default: "100000" } } });
const tasks = Number(values.tasks);
if (!Number.isInteger(tasks) || tasks < 1) throw new Error("--tasks must be a whole number from 1");
const never = new AbortController().signal;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const site = new Site();
try {
  const server = await site.startServer();
  const agent = await site.startAgent("a1", "--cpu", "8");
  const directory = site.path("agent-a1");
  const look = () => {
    const helpers = (["launcher", "keeper"] as const).flatMap((kind) =>
      helpersOf(`${directory}/process`, kind),
    );
    const processes = [server.pid, agent.pid, ...helpers].map((pid) => sampleProcess(pid));
    const sum = (name: "descriptors" | "zombies"): number =>
      processes.reduce((total, one) => total + (one?.[name] ?? 0), 0);
    const files = readdirSync(directory, { recursive: true }).length;
    const found = { zombies: sum("zombies"), descriptors: sum("descriptors") };
    return { ...found, helpers: helpers.length, files };
  };
  const run = async (count: number): Promise<void> => {
    const before = Number((await site.client.getStats({})).tasksEnded);
    const spec = { command: ["/bin/true"], array: `0-${count - 1}` };
    await site.client.submitJobs({ jobs: [{ spec }] });
    const ended = async () => Number((await site.client.getStats({})).tasksEnded) - before;
    while ((await ended()) < count) await pause(500, never);
    await pause(3_000, never); // background removals are done by then
  };
  await run(100); // launchers and connections exist from here on
  const before = look();
  await run(tasks);
  const after = look();
  print(`before ${JSON.stringify(before)}`);
  print(`after  ${JSON.stringify(after)} ${tasks} tasks`);
  // Slots of launchers are kept for the next runs: a bounded number, with three entries each.
  const filesMax = before.files + 4 * limits.launchersMax * limits.launcherSparesMax;
  const isClean =
    after.zombies === 0 &&
    after.descriptors <= before.descriptors + 2 &&
    after.helpers === before.helpers &&
    after.files <= filesMax;
  print(isClean ? `nothing is left (at most ${filesMax} files are allowed)` : "SOMETHING IS LEFT");
  process.exitCode = isClean ? 0 : 1;
} finally {
  await site.close();
}
