// The cost of starting processes: `node bench/launcher.ts [count] [at once]`. CPU is that of everything involved (agent, launchers,
// wrappers and commands) per `/bin/true`. Machines are noisy: compare within one run of this, with the C loop as the unit.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PERLS } from "../src/agent/executors/process/launchers/launcher-script.ts";
import { PoolStarter } from "../src/agent/executors/process/launchers/pool-starter.ts";
import type { LauncherKind } from "../src/agent/executors/process/process-executor.ts";
import { createProcessExecutor } from "../src/agent/executors/process/process-executor.ts";
import { createRemover } from "../src/agent/runs/remover.ts";
import { SpawnStarter } from "../src/agent/executors/process/launchers/spawn-starter.ts";
import type { ProcessStarter } from "../src/agent/executors/process/launchers/starter.ts";
import { createSystemClock } from "../src/system/clock.ts";
import { silentLogger } from "../src/testing/silent-logger.ts";

const count = Number(process.argv[2] ?? 2_000);
const atOnce = Number(process.argv[3] ?? 2);
const directory = mkdtempSync(join(tmpdir(), "busbar-bench-"));
const clock = createSystemClock();
const quiet = () => undefined;
const logger = silentLogger;
const env = { PATH: "/usr/bin:/bin" };

const C_LOOP = `
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  for (int left = atoi(argv[1]); left > 0; left--) {
    pid_t pid = vfork();
    if (pid == 0) { execl("/bin/true", "true", (char *)0); _exit(127); }
    waitpid(pid, 0, 0);
  }
}
`;

/** CPU of this process, of its ended children, and of the launchers and lanes in sessions of its children. */
function cpuMs(): number {
  let ticks = 0;
  const own = `/proc/self/task/${process.pid}/children`;
  const launchers = new Set(readFileSync(own, "latin1").trim().split(" "));
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const leader = fields[3] ?? "";
      const isOurs = Number(name) === process.pid || launchers.has(leader);
      if (isOurs) for (const at of [11, 12, 13, 14]) ticks += Number(fields[at]);
    } catch {
      // ended while we looked
    }
  }
  return ticks * 10;
}

async function measure(name: string, work: () => Promise<void> | void): Promise<void> {
  const beganMs = performance.now();
  const [agentUs, allMs] = [process.cpuUsage(), cpuMs()];
  await work();
  const own = process.cpuUsage(agentUs);
  const wallMs = performance.now() - beganMs;
  const agent = (own.user + own.system) / 1_000 / count;
  const all = (cpuMs() - allMs) / count;
  const rate = Math.round((count / wallMs) * 1_000);
  process.stdout.write(
    `${name.padEnd(34)} ${String(rate).padStart(6)}/s  ${all.toFixed(3)} ms CPU each, ` +
      `${agent.toFixed(3)} ms of it here\n`,
  );
}

/** Starts `count`, `atOnce` at a time; `start` calls back when one has ended. */
function inTurns(start: (index: number, ended: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    let [begun, done] = [0, 0];
    const next = (): void => {
      if (done === count) resolve();
      if (begun === count) return;
      begun += 1;
      start(begun, () => {
        done += 1;
        next();
      });
    };
    for (let lane = 0; lane < atOnce; lane += 1) next();
  });
}

async function throughStarter(name: string, starter: ProcessStarter): Promise<void> {
  const runs = join(directory, name.replaceAll(" ", "-"), "runs");
  const launch = { argv: ["/bin/true"], env: { BUSBAR_JOB_ID: "1" }, cwd: undefined };
  await measure(name, () =>
    inTurns((index, ended) => {
      const run = join(runs, String(index));
      const gone = (): void => {
        starter.recycle(run);
        ended();
      };
      starter.start(
        { ...launch, key: String(index), directory: run, script: undefined },
        gone,
        quiet,
      );
    }),
  );
  starter.close();
}

function createPool(name: string): ProcessStarter {
  const own = join(directory, name.replaceAll(" ", "-"));
  const runsDirectory = join(own, "runs");
  mkdirSync(runsDirectory, { recursive: true });
  const remover = createRemover(join(own, "trash"), logger);
  const spareDirectory = join(own, "spare");
  const fallback = new SpawnStarter(env, clock);
  const rest = { env, clock, logger, remover, fallback };
  return new PoolStarter({ perl: PERLS[0], runsDirectory, spareDirectory, ...rest });
}

async function throughExecutor(launcher: LauncherKind): Promise<void> {
  const own = join(directory, `executor-${launcher}`);
  const executor = await createProcessExecutor({ directory: own, clock, logger, env, launcher });
  const waiting = new Map<number, () => void>();
  executor.onReport((id, report) => {
    if (report.kind !== "ended") return;
    executor.forget(id);
    waiting.get(id.jobId)?.();
    waiting.delete(id.jobId);
  });
  const limits = { timeLimitMs: undefined, killGraceMs: 1_000, outputLimitBytes: 1_000_000 };
  const work = { kind: "command", argv: ["/bin/true"] } as const;
  await measure(`the executor with ${launcher}`, () =>
    inTurns((jobId, ended) => {
      waiting.set(jobId, ended);
      const id = { jobId, index: 0, attempt: 1 };
      executor.start({
        id,
        work,
        env: { BUSBAR_JOB_ID: "1" },
        cwd: undefined,
        name: "true",
        arrayIndex: undefined,
        request: undefined,
        needs: {},
        ...limits,
      });
    }),
  );
  await executor.close();
}

const awake = setInterval(quiet, 60_000); // no starter keeps a process alive
try {
  writeFileSync(join(directory, "loop.c"), C_LOOP);
  execFileSync("cc", ["-O2", "-o", join(directory, "loop"), join(directory, "loop.c")]);
  const loop = (): void => {
    spawnSync(join(directory, "loop"), [String(count)]);
  };
  await measure("C: vfork and exec", loop);
  await measure("Node: spawn", () =>
    inTurns((_, ended) => {
      spawn("/bin/true", { stdio: "ignore", detached: true }).once("exit", ended);
    }),
  );
  await throughStarter("spawn starter", new SpawnStarter(env, clock));
  await throughStarter("pool starter", createPool("pool starter"));
  await throughExecutor("spawn");
  await throughExecutor("perl");
  await throughExecutor("native");
  await measure("C: vfork and exec, again", loop);
} finally {
  clearInterval(awake);
  rmSync(directory, { recursive: true, force: true });
}
