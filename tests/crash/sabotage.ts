import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";
import { readLedger } from "./ledger.ts";
import type { World } from "./world.ts";

/** Ways to break a world on purpose, during its rounds, to check the checkers. */
const acts = {
  "repeat-start": repeatStart,
  "delete-job": deleteJob,
  "delete-subsystem": deleteSubsystem,
  "damage-store": damageStore,
  "alter-exit": alterExit,
} as const;

export type SabotageKind = keyof typeof acts;

export const sabotageKinds = Object.keys(acts) as readonly SabotageKind[];

const IN_ROUND = 3; // late enough that there is something to break

export interface Sabotage {
  readonly between?: (round: number) => Promise<void>;
}

export function createSabotage(kind: SabotageKind | undefined, world: World): Sabotage {
  if (kind === undefined) return {};
  return {
    between: async (round) => {
      if (round === IN_ROUND) await acts[kind](world);
    },
  };
}

/** Simulates an attempt that was executed twice. */
async function repeatStart(world: World): Promise<void> {
  await startAll(world);
  const first = () => readLedger(world.directory).started[0];
  const { jobId, index, attempt, node, pid } = await eventually(first, { what: "a started task" });
  const line = `${jobId} ${index} ${attempt} ${node} ${pid}\n`;
  appendFileSync(join(world.directory, "started"), line);
}

/** Simulates a server that lost an acknowledged job, but nothing else. */
async function deleteJob(world: World): Promise<void> {
  await deleteRows(world, (keys) => {
    const job = keys.find((key) => key.startsWith("job/"));
    const number = job?.split("/")[1];
    return keys.filter((key) => key === job || key.startsWith(`task/${number}/`));
  });
}

/** Simulates a server that lost a subsystem of a cluster's graph. */
async function deleteSubsystem(world: World): Promise<void> {
  await deleteRows(world, (keys) => keys.filter((key) => key.startsWith("subsystem/")));
}

async function deleteRows(
  world: World,
  choose: (keys: readonly string[]) => readonly string[],
): Promise<void> {
  await world.server.kill();
  const store = await createSqliteStore({ directory: dataOf(world), logger: silentLogger });
  const keys: string[] = [];
  for await (const rows of store.load()) keys.push(...rows.map(({ key }) => key));
  const writes = choose(keys).map((key) => ({ key, value: undefined }));
  await store.commit({ revision: store.revision() + 1, writes });
  await store.close();
}

/** Simulates a disk that lost a row. */
async function damageStore(world: World): Promise<void> {
  await world.server.kill();
  const db = new DatabaseSync(join(dataOf(world), "busbar.db"));
  db.exec("DELETE FROM rows WHERE key = (SELECT min(key) FROM rows WHERE key LIKE 'job/%')");
  db.close();
}

/** Simulates an agent that misread the exit code of a task it found again. */
async function alterExit(world: World): Promise<void> {
  await startAll(world);
  const running = () => stateFiles(world).find((path) => !/end\s*$/.test(readState(path)));
  const path = await eventually(running, { what: "a running task", timeoutMs: 60_000 });
  await Promise.all(world.agents.map((agent) => agent.kill()));
  const ended = () => /exit (\d+)\s+end\s*$/.exec(readState(path)) ?? undefined;
  const [text, code = ""] = await eventually(ended, { what: `an exit code in ${path}` });
  const other = code.slice(0, -1) + String((Number(code.at(-1)) + 1) % 10); // of the same length
  writeFileSync(path, readState(path).replace(text, text.replace(`exit ${code}`, `exit ${other}`)));
}

/** Some of the parts have just been killed. */
async function startAll(world: World): Promise<void> {
  for (const agent of world.agents) agent.start();
  if (!world.server.isUp) await world.startServer();
}

const dataOf = ({ directory }: World): string => join(directory, "data");

/** The files that wrappers of runs left, on both agents. */
function stateFiles({ directory }: World): string[] {
  return ["a1", "a2"].flatMap((name) => {
    const runs = join(directory, name, "process", "runs");
    return readdirSync(runs).map((run) => join(runs, run, "state"));
  });
}

/** A run that the agent dropped meanwhile counts as ended. */
function readState(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "\nend\n";
  }
}
