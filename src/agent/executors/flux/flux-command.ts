import type { CommandResult } from "../../lower/command.ts";
import { runCommand } from "../../lower/command.ts";
import type { AgentEnv } from "../../runs/task-env.ts";
import { LOWER_PASSES, taskEnvOf } from "../../runs/task-env.ts";

export type FluxAnswer = CommandResult;

/** Runs one command of Flux. Throws AppError `unavailable` when it does not begin, or does not end. */
export type FluxCommand = (args: readonly string[]) => Promise<FluxAnswer>;

export interface FluxCommandOptions {
  /** Default: flux, found on PATH. */
  readonly program?: string;
  /** The agent's own environment. */
  readonly env?: AgentEnv;
  /** Variables for every task. */
  readonly taskEnv?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs?: number;
}

export function createFluxCommand(options: FluxCommandOptions = {}): FluxCommand {
  const { program = "flux", timeoutMs } = options;
  const passed = taskEnvOf({
    agentEnv: options.env ?? process.env,
    added: options.taskEnv,
    passes: (name) => name.startsWith("FLUX_") || LOWER_PASSES.includes(name),
  });
  const env = { ...passed, FLUX_F58_FORCE_ASCII: "1" }; // ids in plain ASCII, whatever the locale
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  return (args) => runCommand(program, args, { env, ...limit });
}
