import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Site } from "./site.ts";
import { waitUntil } from "./numbers.ts";

/** A run of many `/bin/true`: tasks per second, and CPU seconds of everything per task. */
export interface PeerRun {
  readonly rate: number;
  readonly cpu?: number;
}

/** Another scheduler that runs the same tasks, with a name for the table. */
export interface Peer {
  readonly name: string;
  run(tasks: number): Promise<PeerRun>;
}

const script = fileURLToPath(new URL("../native/hyperqueue_local.py", import.meta.url));
/** Cached between runs: installing it takes longer than measuring it. */
const environment = join(tmpdir(), "busbar-bench-hyperqueue");

/** HyperQueue as installed by `pip install hyperqueue`: in memory, nothing is durable. */
export async function openWheel(site: Site, cpus: number): Promise<Peer> {
  const python = join(environment, "bin", "python");
  if (!existsSync(python)) await site.start("python3", ["-m", "venv", environment]).done();
  await site.start(python, ["-m", "pip", "install", "--quiet", "hyperqueue"]).done();
  let runs = 0;
  return {
    name: "HyperQueue's wheel",
    async run(tasks) {
      const directory = site.path(`wheel-${++runs}`);
      mkdirSync(directory);
      const args = [script, directory, String(tasks), String(cpus)];
      const output = await site.start(python, args).done();
      const result = /^result (.*)$/m.exec(output)?.[1];
      if (result === undefined) throw new Error(`HyperQueue reported no result: ${output}`);
      return JSON.parse(result) as PeerRun;
    },
  };
}

/** HyperQueue's own program, with its journal on, as HQ_BIN names it. */
export function openNative(site: Site, program: string, cpus: number): Peer {
  let runs = 0;
  const run = async (tasks: number): Promise<PeerRun> => {
    const directory = site.path(`native-${++runs}`);
    mkdirSync(directory);
    const hq = (...args: string[]) =>
      site.start(program, ["--server-dir", directory, ...args], { cwd: directory });
    const server = hq("server", "start", "--journal", join(directory, "journal"));
    const isUp = async (): Promise<boolean> =>
      hq("server", "info")
        .done()
        .then(Boolean, () => false);
    await waitUntil("starting hq", isUp, { everyMs: 50, timeoutMs: 30_000 });
    const worker = hq("worker", "start", "--cpus", String(cpus));
    const hasWorker = async (): Promise<boolean> =>
      (await hq("--output-mode", "json", "worker", "list").done()).includes('"id"');
    await waitUntil("starting its worker", hasWorker, { everyMs: 50, timeoutMs: 30_000 });
    const beginMs = performance.now();
    await hq("submit", "--array", `1-${tasks}`, "--wait", "/bin/true").done();
    const rate = (tasks * 1_000) / (performance.now() - beginMs);
    await worker.stop();
    await server.stop();
    return { rate };
  };
  return { name: "HyperQueue native", run };
}
