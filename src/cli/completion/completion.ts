import { Argument, type Command, Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { toCommandNode } from "./command-tree.ts";
import { bashScript, fishScript, zshScript } from "./completion-script.ts";
import { oneOf } from "../flags.ts";
import { readValues, type ValueKind, valueKinds } from "./server-values.ts";
import type { Answer, Session, Shell } from "../session.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type ShellName = keyof typeof SCRIPTS;
const shellNames = Object.keys(SCRIPTS) as readonly ShellName[];

export function declareCompletion(command: Command, shell: Shell): void {
  command
    .addArgument(new Argument("[shell]", "the shell").choices(shellNames).argParser(readShellName))
    .addOption(
      new Option("--values <kind>", "print the values of this kind, for completion scripts")
        .choices(valueKinds)
        .argParser(oneOf("--values", valueKinds))
        .hideHelp(),
    )
    .addHelpText(
      "after",
      `
Ids and names of nodes, groups, clusters and services are asked of the server, which has 0.7 s to answer.

Examples:
  source <(busbar completion bash)
  busbar completion fish > ~/.config/fish/completions/busbar.fish`,
    )
    .action((name: ShellName | undefined, { values }: { readonly values?: ValueKind }) =>
      shell.run(command, async (session) => {
        if (values !== undefined) return serverValues(session, values);
        if (name === undefined) throw invalid("<shell>", `is missing; ${shellNames.join(", ")}`);
        return completion(name, shell);
      }),
    );
}

function readShellName(text: string): ShellName {
  const found = shellNames.find((name) => name === text);
  if (found !== undefined) return found;
  throw invalid("<shell>", `"${text}" is not one of ${shellNames.join(", ")}`);
}

/** Prints no errors: they would appear in the middle of the line that the user types. */
async function serverValues(session: Session, kind: ValueKind): Promise<Answer> {
  const found = await session
    .client()
    .then((client) => readValues(client, kind))
    .catch(() => []);
  return { json: found, text: () => found.join("\n") };
}

async function completion(name: ShellName, shell: Shell): Promise<Answer> {
  const { createProgram, declareAll } = await import("../program.ts");
  // A separate tree: this one has declared only the running command.
  const program = createProgram(shell, { writeOut() {}, writeErr() {}, width: undefined });
  await declareAll(program, shell);
  const script = SCRIPTS[name](toCommandNode(program));
  return { json: { shell: name, script }, text: () => script, isRaw: true };
}
