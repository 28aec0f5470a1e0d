import { Argument, type Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { toCommandNode } from "./command-tree.ts";
import { bashScript, fishScript, zshScript } from "./completion-script.ts";
import type { Answer, Shell } from "../session.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type ShellName = keyof typeof SCRIPTS;
const shellNames = Object.keys(SCRIPTS) as readonly ShellName[];

export function declareCompletion(command: Command, shell: Shell): void {
  command
    .addArgument(new Argument("<shell>", "the shell").choices(shellNames).argParser(readShellName))
    .addHelpText(
      "after",
      `
Examples:
  source <(busbar completion bash)
  busbar completion fish > ~/.config/fish/completions/busbar.fish`,
    )
    .action((name: ShellName) => shell.run(command, () => completion(name, shell)));
}

function readShellName(text: string): ShellName {
  const found = shellNames.find((name) => name === text);
  if (found !== undefined) return found;
  throw invalid("<shell>", `"${text}" is none of ${shellNames.join(", ")}`);
}

async function completion(name: ShellName, shell: Shell): Promise<Answer> {
  const { createProgram, declareAll } = await import("../program.ts");
  // A tree of its own: this one has declared only the command that runs.
  const program = createProgram(shell, { writeOut() {}, writeErr() {}, width: undefined });
  await declareAll(program, shell);
  const script = SCRIPTS[name](toCommandNode(program));
  return { json: { shell: name, script }, text: () => script, isRaw: true };
}
