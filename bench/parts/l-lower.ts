import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createFlux } from "../../src/agent/executors/flux/flux.ts";
import { createSlurm } from "../../src/agent/executors/slurm/slurm.ts";
import type { Executor, RunRequest } from "../../src/ports/executor.ts";
import { createSystemClock } from "../../src/system/clock.ts";
import { isFluxHere, startFlux } from "../../tests/contract/executor/flux-bed.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";
import type { Slurm } from "../../tests/support/slurm.ts";
import { startSlurm } from "../../tests/support/slurm.ts";
import { waitUntil } from "../support/numbers.ts";
import type { Bench, Case, Measure } from "../support/part.ts";

const SINGLE_JOBS = 100;
const ARRAY_TASKS = 200;
const CPUS = 64;
const TIMEOUT_MS = 180_000;

const request = (jobId: number, index: number, isArray: boolean): RunRequest => ({
  id: { jobId, index, attempt: 1 },
  name: "bench",
  arrayIndex: isArray ? index : undefined,
  work: { kind: "command", argv: ["true"] },
  request: undefined,
  needs: {},
  env: {},
  cwd: undefined,
  timeLimitMs: undefined,
  killGraceMs: 2_000,
  outputLimitBytes: 1_000,
});
const singles = (count: number): RunRequest[] =>
  Array.from({ length: count }, (_, at) => request(at + 1, 0, false));
const array = (count: number): RunRequest[] =>
  Array.from({ length: count }, (_, at) => request(1, at, true));

const rateSince = (beginMs: number, count: number): number =>
  (count * 1_000) / (performance.now() - beginMs);

/** From the first start to the last end, through an executor over its own directory. */
async function throughExecutor(
  open: (directory: string) => Promise<Executor>,
  requests: readonly RunRequest[],
  isDone: (executor: Executor) => boolean,
): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), "busbar-bench-lower-"));
  const executor = await open(directory);
  try {
    const beginMs = performance.now();
    for (const each of requests) executor.start(each);
    await waitUntil("the jobs", async () => isDone(executor), {
      everyMs: 50,
      timeoutMs: TIMEOUT_MS,
    });
    return rateSince(beginMs, requests.length);
  } finally {
    await executor.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  }
}

const haveEnded =
  (count: number) =>
  (executor: Executor): boolean =>
    executor.known().filter(({ report }) => report.kind === "ended").length === count;

interface Plain {
  /** Submits the executor's input with the scheduler's own command. */
  readonly submit: () => void;
  readonly hasEnded: () => boolean;
}

async function plainRate({ submit, hasEnded }: Plain, count: number): Promise<number> {
  const beginMs = performance.now();
  submit();
  await waitUntil("the plain jobs", async () => hasEnded(), {
    everyMs: 50,
    timeoutMs: TIMEOUT_MS,
  });
  return rateSince(beginMs, count);
}

/** Jobs in Slurm's queue, elements of arrays one by one. */
const queued = (slurm: Slurm): number =>
  slurm.run("squeue", "--me", "--noheader", "--array", "--format=%i").split("\n").length - 1;

async function measureSlurm(bench: Bench, isArray: boolean): Promise<readonly Measure[]> {
  const count = bench.count(isArray ? ARRAY_TASKS : SINGLE_JOBS);
  const slurm = await startSlurm({ cpus: CPUS });
  const env = { ...process.env, ...slurm.env };
  const how = { clock: createSystemClock(), logger: silentLogger, env, cluster: "bench" };
  const open =
    (extraArgs: readonly string[]) =>
    async (directory: string): Promise<Executor> =>
      (await createSlurm({ directory, extraArgs, ...how })).executor;
  const sbatch = (...args: string[]): void => {
    const all = ["--parsable", "--output=/dev/null", ...args, "--wrap=true"];
    const { status, stderr } = spawnSync("sbatch", all, { env, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  const plain = (...args: string[]): void => {
    if (isArray) return sbatch(`--array=0-${count - 1}`, ...args);
    for (let at = 0; at < count; at += 1) sbatch(...args);
  };
  const empty = async (): Promise<void> => {
    slurm.run("scancel", "--me");
    const isEmpty = async (): Promise<boolean> => queued(slurm) === 0;
    await waitUntil("an empty queue", isEmpty, { everyMs: 100, timeoutMs: TIMEOUT_MS });
  };
  try {
    const requests = isArray ? array(count) : singles(count);
    const areQueued = (): boolean => queued(slurm) === count;
    bench.progress("held jobs, by plain sbatch and through an agent");
    const plainHeld = await plainRate(
      { submit: () => plain("--hold"), hasEnded: areQueued },
      count,
    );
    await empty();
    const held = await throughExecutor(open(["--hold"]), requests, areQueued);
    await empty();
    bench.progress("jobs of no duration, by plain sbatch and through an agent");
    const hasEnded = (): boolean => queued(slurm) === 0;
    const plainEnded = await plainRate({ submit: () => plain(), hasEnded }, count);
    const ended = await throughExecutor(open([]), requests, haveEnded(count));
    bench.worked(2 * count);
    const unit = "jobs/s";
    return [
      { name: "plain sbatch, in the queue", value: plainHeld, unit },
      { name: "in the queue", value: held, unit },
      { name: "plain sbatch, ended", value: plainEnded, unit },
      { name: "ended", value: ended, unit },
    ];
  } finally {
    await slurm.stop();
  }
}

async function measureFlux(bench: Bench, isArray: boolean): Promise<readonly Measure[]> {
  const count = bench.count(isArray ? ARRAY_TASKS : SINGLE_JOBS);
  const name = "ended";
  if (!isFluxHere) {
    return [{ name, value: 0, unit: "jobs/s", note: "not measured: there is no flux on PATH" }];
  }
  const instance = await startFlux();
  try {
    const { env } = instance;
    const flux = (...args: string[]): string => {
      const { status, stdout, stderr } = spawnSync("flux", args, { env, encoding: "utf8" });
      if (status !== 0) throw new Error(stderr);
      return stdout;
    };
    const submit = (): void => {
      if (isArray) flux("submit", `--cc=0-${count - 1}`, "true");
      else for (let at = 0; at < count; at += 1) flux("submit", "true");
    };
    const hasEnded = (): boolean => flux("jobs", "-n", "-o", "{id}").trim() === "";
    const plain = await plainRate({ submit, hasEnded }, count);
    const how = { clock: createSystemClock(), logger: silentLogger, env, cluster: "bench" };
    const requests = isArray ? array(count) : singles(count);
    const open = async (directory: string): Promise<Executor> =>
      (await createFlux({ directory, ...how })).executor;
    const value = await throughExecutor(open, requests, haveEnded(count));
    return [
      { name: "plain flux submit, ended", value: plain, unit: "jobs/s" },
      { name, value, unit: "jobs/s" },
    ];
  } finally {
    await instance.stop();
  }
}

const ON_SLURM = `on a real Slurm of one machine with ${CPUS} cpus, beside plain sbatch`;
const ON_FLUX = "on the Flux on PATH, beside plain flux submit";

export const slurmSingle: Case = {
  id: "l.slurm-single",
  what: `${SINGLE_JOBS} single jobs ${ON_SLURM}`,
  run: (bench) => measureSlurm(bench, false),
};
export const slurmArray: Case = {
  id: "l.slurm-array",
  what: `an array of ${ARRAY_TASKS} ${ON_SLURM} --array`,
  run: (bench) => measureSlurm(bench, true),
};
export const fluxSingle: Case = {
  id: "l.flux-single",
  what: `${SINGLE_JOBS} single jobs ${ON_FLUX}`,
  run: (bench) => measureFlux(bench, false),
};
export const fluxArray: Case = {
  id: "l.flux-array",
  what: `an array of ${ARRAY_TASKS} ${ON_FLUX} --cc`,
  run: (bench) => measureFlux(bench, true),
};
