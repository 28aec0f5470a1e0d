import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const STAND_IN = fileURLToPath(new URL("../../support/fake-flux", import.meta.url));

/** A Flux for tests. */
export interface FluxBed {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  dispose(): void;
}

/** The stand-in; `break` makes it fail as described by the file of that name. */
export interface StandIn extends FluxBed {
  break(how: "down" | "hang" | "refuse" | "hold" | "mute" | "picky", text?: string): void;
  mend(): void;
  /** Loses all jobs, as after a crash; their processes continue. */
  crash(): void;
  /** Its calls, except those that list jobs. */
  calls(): readonly (readonly string[])[];
  /** Its calls that list jobs. */
  looks(): readonly (readonly string[])[];
}

export function makeStandIn(): StandIn {
  const directory = mkdtempSync(join(tmpdir(), "busbar-flux-"));
  const home = join(directory, "flux");
  mkdirSync(join(home, "jobs"), { recursive: true });
  writeFileSync(join(home, "calls"), "");
  const said = (): readonly (readonly string[])[] =>
    readFileSync(join(home, "calls"), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as readonly string[]);
  return {
    directory,
    env: {
      ...process.env,
      PATH: `${STAND_IN}:${process.env["PATH"] ?? ""}`,
      FLUX_STAND_IN: home,
    },
    break: (how, text = "") => writeFileSync(join(home, how), text),
    mend() {
      for (const how of ["down", "hang", "refuse", "hold"])
        rmSync(join(home, how), { force: true });
    },
    crash() {
      writeFileSync(join(home, "crashed"), "");
      const names = readdirSync(join(home, "jobs")).filter((name) => name.endsWith(".json"));
      for (const name of names) renameSync(join(home, "jobs", name), join(home, name));
    },
    calls: () => said().filter(([command]) => command !== "jobs"),
    looks: () => said().filter(([command]) => command === "jobs"),
    dispose() {
      for (const name of [".", "jobs"].flatMap((each) =>
        readdirSync(join(home, each)).map((file) => join(home, each, file)),
      )) {
        // Asks remaining jobs to end; their runner sees that the directory is removed.
        if (name.endsWith(".json")) killGroupOf(name);
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function killGroupOf(path: string): void {
  try {
    const { pid, state } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    if (typeof pid === "number" && state === "RUN") process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

export const isFluxHere = spawnSync("flux", ["version"]).status === 0;

/** A Flux instance that several tests share. */
export interface FluxInstance {
  readonly env: FluxBed["env"];
  /** With a directory that no other test sees. */
  openBed(): FluxBed;
  /** Ends when none of its jobs runs any more. */
  stop(): Promise<void>;
}

/** Starts an instance with the `flux` on PATH, as the leader of a group that ends as a whole. */
export async function startFlux(): Promise<FluxInstance> {
  const home = mkdtempSync(join(tmpdir(), "busbar-flux-instance-"));
  const messages = join(home, "stderr");
  const log = openSync(messages, "a"); // otherwise the runner's own would stay open in processes of Flux
  const script = 'echo "$FLUX_URI"; exec sleep 3600';
  const instance = spawn("flux", ["start", "--test-size=1", "sh", "-c", script], {
    stdio: ["ignore", "pipe", log],
    detached: true,
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => instance.once("exit", () => resolve()));
  const uri = await new Promise<string>((resolve, reject) => {
    instance.stdout?.once("data", (data: Buffer) => resolve(data.toString().trim()));
    const fail = (): void => reject(new Error(`flux start: ${readFileSync(messages, "utf8")}`));
    void ended.then(fail);
  });
  instance.stdout?.destroy();
  const env = { ...process.env, FLUX_URI: uri };
  return {
    env,
    openBed() {
      const directory = mkdtempSync(join(tmpdir(), "busbar-flux-"));
      return { directory, env, dispose: () => rmSync(directory, { recursive: true, force: true }) };
    },
    async stop() {
      spawnSync("flux", ["cancel", "--all", "--quiet"], { env });
      signalGroup(instance, "SIGTERM");
      const timer = setTimeout(() => signalGroup(instance, "SIGKILL"), STOP_MS_MAX);
      await ended;
      clearTimeout(timer);
      signalGroup(instance, "SIGKILL"); // processes that ignored it
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const STOP_MS_MAX = 20_000;

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // None of them is left.
  }
}
