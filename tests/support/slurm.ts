import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

import { whyNotInstalled } from "./debian.ts";
import { eventually } from "../../src/testing/eventually.ts";

/** A Slurm of one machine, in one directory and on its own loopback ports. */
export interface Slurm {
  readonly directory: string;
  /** The environment in which its commands find it. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs one of its commands; throws when it fails. */
  run(program: string, ...args: string[]): string;
  /** Ends the controller, as an operator would for an upgrade; jobs continue. */
  stopController(): Promise<void>;
  /** "-c": it drops all jobs. */
  startController(...args: string[]): Promise<void>;
  /** Ends everything, jobs included, and removes the directory. */
  stop(): Promise<void>;
}

export interface SlurmOptions {
  readonly cpus?: number;
  /** Lines added to slurm.conf. */
  readonly config?: readonly string[];
}

/** Why Slurm is not available here; undefined when it is. */
export const whyNoSlurm = (): string | undefined =>
  whyNotInstalled({
    packages: ["slurmctld", "slurmd", "slurm-client", "munge"],
    programs: ["/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/bin/sbatch", "/usr/sbin/munged"],
  });

/** Throws with the reason where it is not available: a silently skipped test proves nothing. */
export async function startSlurm({ cpus = 64, config = [] }: SlurmOptions = {}): Promise<Slurm> {
  const reason = whyNoSlurm();
  if (reason !== undefined) throw new Error(`there is no Slurm for tests: ${reason}`);
  const directory = mkdtempSync(join(tmpdir(), "busbar-slurm-"));
  chmodSync(directory, 0o755);
  for (const name of ["etc", "run", "log", "spool", "state"]) mkdirSync(join(directory, name));
  const [controllerPort, nodePort] = await freePorts();
  const conf = join(directory, "etc/slurm.conf");
  writeFileSync(conf, slurmConf(directory, { cpus, controllerPort, nodePort, config }));
  const env = { SLURM_CONF: conf };
  const running = new Map<string, ChildProcess>();

  function start(name: string, program: string, ...args: string[]): void {
    const log = openSync(join(directory, `log/${name}.out`), "a");
    const stdio = ["ignore", log, log] as const;
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: [...stdio] });
    running.set(name, child);
  }

  async function end(name: string): Promise<void> {
    const child = running.get(name);
    running.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => void child.once("exit", resolve));
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
    await gone;
    clearTimeout(timer);
  }

  function run(program: string, ...args: string[]): string {
    const result = spawnSync(program, args, { env: { ...process.env, ...env }, encoding: "utf8" });
    if (result.status === 0) return result.stdout;
    throw new Error(`${program} ${args.join(" ")}: ${result.stderr}`);
  }

  const slurm: Slurm = {
    directory,
    env,
    run,
    stopController: () => end("slurmctld"),
    async startController(...args) {
      start("slurmctld", "/usr/sbin/slurmctld", "-D", ...args);
      await untilAnswers(["scontrol", "ping"], /UP/);
    },
    async stop() {
      spawnSync("scancel", ["--me", "--signal=KILL"], { env: { ...process.env, ...env } });
      spawnSync("scancel", ["--me"], { env: { ...process.env, ...env } });
      await end("slurmd");
      for (const name of [...running.keys()].toReversed()) await end(name);
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    },
  };

  async function untilAnswers([program = "", ...args]: string[], pattern: RegExp): Promise<void> {
    const answers = (): boolean => {
      const { stdout } = spawnSync(program, args, {
        env: { ...process.env, ...env },
        encoding: "utf8",
      });
      return pattern.test(stdout);
    };
    await eventually(answers, { what: `${program} to say ${pattern.source}`, timeoutMs: 60_000 });
  }

  try {
    startMunge(directory, start);
    await eventually(() => spawnSync("munge", ["-n", "-S", socketOf(directory)]).status === 0, {
      what: "munge",
    });
    await slurm.startController();
    start("slurmd", "/usr/sbin/slurmd", "-D", "-N", NODE);
    await untilAnswers(["sinfo", "--noheader", "--format=%T"], /^idle/);
    return slurm;
  } catch (error) {
    await slurm.stop();
    throw error;
  }
}

const NODE = hostname();
const socketOf = (directory: string): string => join(directory, "run/munge.sock");

function startMunge(
  directory: string,
  start: (name: string, program: string, ...args: string[]) => void,
): void {
  const key = join(directory, "etc/munge.key");
  writeFileSync(key, randomBytes(1_024), { mode: 0o600 });
  start(
    "munged",
    "/usr/sbin/munged",
    "--foreground",
    "--force", // temporary directories are writable for all
    `--key-file=${key}`,
    `--socket=${socketOf(directory)}`,
    `--pid-file=${join(directory, "run/munged.pid")}`,
    `--log-file=${join(directory, "log/munged.log")}`,
    `--seed-file=${join(directory, "run/munged.seed")}`,
  );
}

function slurmConf(
  directory: string,
  how: {
    readonly cpus: number;
    readonly controllerPort: number;
    readonly nodePort: number;
    readonly config: readonly string[];
  },
): string {
  const at = (path: string): string => join(directory, path);
  const { cpus } = how;
  return [
    "ClusterName=busbar-test",
    `SlurmctldHost=${NODE}(127.0.0.1)`,
    "SlurmUser=root",
    "SlurmdUser=root",
    "AuthType=auth/munge",
    "CredType=cred/munge",
    `AuthInfo=socket=${socketOf(directory)}`,
    "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny", // loopback only
    `SlurmctldPort=${how.controllerPort}`,
    `SlurmdPort=${how.nodePort}`,
    `StateSaveLocation=${at("state")}`,
    `SlurmdSpoolDir=${at("spool")}`,
    `SlurmctldPidFile=${at("run/slurmctld.pid")}`,
    `SlurmdPidFile=${at("run/slurmd.pid")}`,
    `SlurmctldLogFile=${at("log/slurmctld.log")}`,
    `SlurmdLogFile=${at("log/slurmd.log")}`,
    "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none",
    "JobAcctGatherType=jobacct_gather/none",
    "AccountingStorageType=accounting_storage/none",
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core",
    "SchedulerType=sched/backfill",
    "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,max_rpc_cnt=0",
    "SlurmdParameters=config_overrides", // more cores than the machine has
    "ReturnToService=2",
    "MpiDefault=none",
    `NodeName=${NODE} NodeAddr=127.0.0.1 CPUs=${cpus} Boards=1 SocketsPerBoard=1 ` +
      `CoresPerSocket=${cpus} ThreadsPerCore=1 RealMemory=8000 Feature=fast,blue State=UNKNOWN`,
    "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    ...how.config,
    "",
  ].join("\n");
}

/** Held while both are chosen, so that they differ. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject);
          server.listen(0, "127.0.0.1", () => {
            const address = server.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return [ports[0] ?? 0, ports[1] ?? 0];
}
