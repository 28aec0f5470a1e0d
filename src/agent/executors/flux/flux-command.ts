import type { CommandResult } from "../../lower/command.ts";
import { runCommand } from "../../lower/command.ts";
import { baseEnvOf } from "../../runs/surroundings.ts";

export type FluxAnswer = CommandResult;

/** Runs one command of Flux. Throws AppError `unavailable` when it does not begin, or does not end. */
export type FluxCommand = (args: readonly string[]) => Promise<FluxAnswer>;

export interface FluxCommandOptions {
  /** Default: flux, looked for on PATH. */
  readonly program?: string;
  /** The agent's own; jobs begin with it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
}

export function createFluxCommand(options: FluxCommandOptions = {}): FluxCommand {
  const { program = "flux", timeoutMs } = options;
  // Ids are to be plain ASCII, whatever the locale.
  const env = { ...baseEnvOf(options.env ?? process.env), FLUX_F58_FORCE_ASCII: "1" };
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  return (args) => runCommand(program, args, { env, ...limit });
}
