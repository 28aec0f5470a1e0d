// Runs /bin/true many times and reports leftovers and costs: `node tests/contract/executor/many-runs.ts 100000 [native|perl|spawn]`. The
// suite does it with fewer.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { LauncherKind } from "../../../src/agent/executors/process/process-executor.ts";
import { createProcessExecutor } from "../../../src/agent/executors/process/process-executor.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { HELPERS, helpersOf, realClock } from "./process-bed.ts";

const AT_ONCE = 8;

/** Starts `count` runs, a few at a time, forgets each, and returns how many ended with 0. */
export function runMany(executor: Executor, count: number, firstJobId: number): Promise<number> {
  return new Promise((resolve) => {
    let [begun, ended, succeeded] = [0, 0, 0];
    const next = (): void => {
      if (begun === count) return;
      executor.start({
        id: { jobId: firstJobId + begun, index: 0, attempt: 1 },
        work: { kind: "command", argv: ["/bin/true"] },
        env: { BUSBAR_JOB_ID: String(firstJobId + begun) },
        cwd: undefined,
        name: "many",
        arrayIndex: undefined,
        request: undefined,
        needs: {},
        timeLimitMs: undefined,
        killGraceMs: 1_000,
        outputLimitBytes: 1_000_000,
      });
      begun += 1;
    };
    executor.onReport((id, report) => {
      if (report.kind !== "ended" || id.jobId < firstJobId) return;
      executor.forget(id);
      ended += 1;
      if (report.end.kind === "exited" && report.end.exitCode === 0) succeeded += 1;
      if (ended === count) resolve(succeeded);
      else next();
    });
    for (let lane = 0; lane < AT_ONCE; lane += 1) next();
  });
}

export interface Census {
  readonly descriptors: number; // of this process
  readonly helperDescriptors: number; // the most that a launcher or a lane has
  readonly children: number; // of this process and its launchers
  readonly zombies: number; // among those, and among the children of lanes
}

export function takeCensus(directory: string): Census {
  const helpers = HELPERS.flatMap((kind) => helpersOf(directory, kind));
  const parents = new Set([process.pid, ...helpers]);
  let [children, zombies] = [0, 0];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    if (!parents.has(Number(fields[1]))) continue;
    children += 1;
    if (fields[0] === "Z") zombies += 1;
  }
  const helperDescriptors = Math.max(0, ...helpers.map((pid) => descriptorsOf(String(pid))));
  return { descriptors: descriptorsOf("self"), helperDescriptors, children, zombies };
}

function descriptorsOf(pid: string): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** The fields of /proc/<pid>/stat from the state on: state, parent, group, session. */
function statOf(pid: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return [];
  }
}

async function main(): Promise<void> {
  const count = Number(process.argv[2] ?? 10_000);
  const launcher = (process.argv[3] ?? "native") as LauncherKind;
  const directory = mkdtempSync(join(tmpdir(), "busbar-many-"));
  const awake = setInterval(() => undefined, 60_000); // an executor does not keep a process alive
  const clock = realClock;
  const executor = await createProcessExecutor({
    directory,
    clock,
    logger: silentLogger,
    launcher,
  });
  await runMany(executor, 100, 1);
  const say = (what: string, census: Census): boolean =>
    process.stdout.write(`${what} ${JSON.stringify(census)}\n`);
  say("before", takeCensus(directory));
  const [beganMs, used] = [performance.now(), process.cpuUsage()];
  const succeeded = await runMany(executor, count, 1_000);
  const seconds = (performance.now() - beganMs) / 1_000;
  const { user, system } = process.cpuUsage(used);
  const cpuMs = (user + system) / 1_000 / count;
  say("after ", takeCensus(directory));
  process.stdout.write(
    `${succeeded} of ${count} ended with 0; ${Math.round(count / seconds)}/s; ` +
      `${cpuMs.toFixed(3)} ms CPU of the agent each; ` +
      `${Math.round(process.memoryUsage.rss() / 1e6)} MB\n`,
  );
  await executor.close();
  clearInterval(awake);
  rmSync(directory, { recursive: true, force: true });
}

if (import.meta.main) await main();
