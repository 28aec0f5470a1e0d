import { readdirSync } from "node:fs";
import { describeChain } from "../../src/lib/errors.ts";
import { check } from "./check.ts";
import { Dice } from "./dice.ts";
import { readFacts } from "./facts.ts";
import { readLedger } from "./ledger.ts";
import { Load } from "./load.ts";
import { Registered } from "./registered.ts";
import { heal, runRounds } from "./rounds.ts";
import { createSabotage, type SabotageKind } from "./sabotage.ts";
import { Witness } from "./witness.ts";
import { World } from "./world.ts";

export interface CrashOptions {
  readonly rounds: number;
  readonly seed: number;
  /** Short: disconnected nodes are lost, and their tasks get new attempts. */
  readonly nodesMayBeLost: boolean;
  readonly sabotage?: SabotageKind;
  readonly print: (line: string) => void;
}

export interface CrashReport {
  readonly problems: readonly string[];
  readonly rounds: number;
  readonly jobs: number;
  readonly tasks: number;
  readonly unacknowledged: number;
  /** Attempts that were lost with their nodes. */
  readonly losses: number;
  readonly seenEnded: number;
  readonly lives: Readonly<Record<string, number>>;
  readonly restartsMs: readonly number[];
  readonly tookMs: number;
}

/** Runs a world under load through rounds of kills, and checks all observations. */
export async function runCrash(options: CrashOptions): Promise<CrashReport> {
  const { seed, nodesMayBeLost } = options;
  const startedAtMs = performance.now();
  const dice = new Dice(seed);
  const world = await World.create(nodesMayBeLost ? "2s" : "1h");
  let report: CrashReport | undefined;
  try {
    report = await crash(world, dice, options);
  } finally {
    const isGood = report?.problems.length === 0;
    await world.close({ keep: !isGood });
    if (!isGood) printHelp(world, options);
  }
  return { ...report, tookMs: performance.now() - startedAtMs };
}

async function crash(world: World, dice: Dice, options: CrashOptions): Promise<CrashReport> {
  const { nodesMayBeLost, print, seed } = options;
  const load = new Load(world, seed + 1);
  const witness = new Witness(world);
  const registered = new Registered(world);
  const sabotage = createSabotage(options.sabotage, world);
  await world.startServer();
  for (const agent of world.agents) agent.start();
  await world.nodesAreConnected();
  await registered.start();
  load.start();
  witness.start();
  let rounds = 0;
  const onRound = async (line: string): Promise<void> => {
    print(`round ${++rounds}: ${line}`);
    await registered.check();
  };
  const trouble: string[] = [];
  try {
    await runRounds(world, { rounds: options.rounds, dice, nodesMayBeLost, onRound, ...sabotage });
    await Promise.all([load.stop(), registered.stop()]);
    await heal(world);
    await load.repeatAll();
  } catch (error) {
    trouble.push(`round ${rounds}: ${describeChain(error)}`);
  }
  const isGood = trouble.length === 0;
  await Promise.all([witness.stop(), registered.stop(), isGood ? undefined : load.stop()]);
  const judged = isGood ? await judge(world, load, witness, nodesMayBeLost) : EMPTY;
  if (isGood) await registered.check();
  const parts = world.parts.flatMap(({ problems }) => problems);
  return {
    ...judged,
    problems: [
      ...trouble,
      ...parts,
      ...[load, witness, registered, judged].flatMap(({ problems }) => problems),
    ],
    rounds,
    seenEnded: witness.seenEnded.size,
    lives: Object.fromEntries(world.parts.map(({ name, lives }) => [name, lives])),
    restartsMs: world.restartsMs,
    tookMs: 0,
  };
}

const EMPTY = { problems: [], jobs: 0, tasks: 0, unacknowledged: 0, losses: 0 };

async function judge(world: World, load: Load, witness: Witness, nodesMayBeLost: boolean) {
  const jobs = await readFacts(world.client);
  await world.server.kill();
  await world.startServer();
  const jobsLater = await readFacts(world.client);
  const ledger = readLedger(world.directory);
  const { submitted } = load;
  const { seenEnded } = witness;
  const tasks = jobs.flatMap((job) => job.tasks);
  const pasts = tasks.flatMap(({ past }) => past);
  return {
    problems: check({ nodesMayBeLost, submitted, jobs, jobsLater, seenEnded, ledger }),
    jobs: jobs.length,
    tasks: tasks.length,
    unacknowledged: [...submitted.values()].filter(({ ids }) => ids.size === 0).length,
    losses: pasts.filter(({ reason }) => reason.startsWith("lost")).length,
  };
}

function printHelp(
  { directory }: World,
  { rounds, seed, nodesMayBeLost, print }: CrashOptions,
): void {
  const lost = nodesMayBeLost ? " --lose-nodes" : "";
  print(`kept: ${directory} (${readdirSync(directory).join(", ")})`);
  print(`again: npm run crash -- --rounds ${rounds} --seed ${seed}${lost}`);
}
