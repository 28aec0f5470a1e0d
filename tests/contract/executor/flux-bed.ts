import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const STAND_IN = fileURLToPath(new URL("../../support/fake-flux", import.meta.url));

/** A Flux to speak to. */
export interface FluxBed {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  dispose(): void;
}

/** The stand-in; `break` makes it fail as the file of that name does. */
export interface StandIn extends FluxBed {
  break(how: "down" | "hang" | "refuse" | "hold" | "mute", text?: string): void;
  mend(): void;
  /** How it was called, but for looking at jobs. */
  calls(): readonly (readonly string[])[];
  /** How it was asked for jobs. */
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
    calls: () => said().filter(([command]) => command !== "jobs"),
    looks: () => said().filter(([command]) => command === "jobs"),
    dispose() {
      for (const name of readdirSync(join(home, "jobs"))) {
        // What still runs is asked to end; its runner sees that its directory is gone.
        if (name.endsWith(".json")) killGroupOf(join(home, "jobs", name));
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

/** A Flux instance of its own, where the program is on PATH. */
export async function startFlux(): Promise<FluxBed> {
  const directory = mkdtempSync(join(tmpdir(), "busbar-flux-"));
  const instance: ChildProcess = spawn(
    "flux",
    ["start", "--test-size=1", "sh", "-c", 'echo "$FLUX_URI"; exec sleep 3600'],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const uri = await new Promise<string>((resolve, reject) => {
    instance.stdout?.once("data", (data: Buffer) => resolve(data.toString().trim()));
    instance.once("exit", () => reject(new Error("flux start has ended")));
  });
  return {
    directory,
    env: { ...process.env, FLUX_URI: uri },
    dispose() {
      instance.kill("SIGTERM");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
