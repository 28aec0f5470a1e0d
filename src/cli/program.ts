import { Command } from "commander";
import type { Context } from "./context.ts";
import { toFailure } from "./failure.ts";
import { addGlobalFlags, guessFormat } from "./globals.ts";
import { AppError } from "../lib/errors.ts";
import { isDocument } from "./formats/output-format.ts";
import { nouns } from "./nouns.ts";
import { meantCommand } from "./suggest/meant-command.ts";
import { createShell, type Outcome, type Shell } from "./session.ts";
import { refuseRepeatedFlags } from "./single-flags.ts";
import { version } from "./service/version.ts";

const EXAMPLES = `
Examples:
  busbar up                                  start a server and an agent on this machine
  busbar run -- echo hello                   run a command and see its output
  busbar submit --array 0-99 -- ./step.sh    queue a hundred tasks
  busbar jobs                                see their states

Exit codes: 0 success, 1 rejected or failed, 2 wrong usage.`;

/** Runs one command line. Returns the exit code, after everything was written. */
export async function runCli(argv: readonly string[], context: Context): Promise<number> {
  const outcome: Outcome = { exitCode: 0, output: undefined };
  const help: { out: string; error: string } = { out: "", error: "" };
  const program = createProgram(createShell(context, outcome), {
    writeOut: (text) => (help.out += text),
    writeErr: (text) => (help.error += text),
    width: context.stdout.columns,
  });
  try {
    await program.parseAsync([...withHelpFlag(argv)], { from: "user" });
    return outcome.exitCode;
  } catch (thrown) {
    const { withMeantFlag } = await import("./suggest/meant-flag.ts");
    const error = withMeantFlag(thrown, argv);
    const format = outcome.output ?? guessFormat(argv);
    const failure = toFailure(error, format);
    const usage = isDocument(format) ? "" : help.error; // the document says it
    try {
      await context.stdout.write(help.out + failure.stdout);
      await context.stderr.write(usage + failure.stderr);
    } catch {
      // The reader has closed the output; only the exit code is left.
    }
    return failure.exitCode;
  }
}

interface HelpOutput {
  writeOut(text: string): void;
  writeErr(text: string): void;
  readonly width: number | undefined;
}

/**
 * The tree of commands. Each starts as a name with a summary, which is all that help needs; its flags and code are loaded when the command
 * line names it.
 */
export function createProgram(shell: Shell, output: HelpOutput): Command {
  const program = new Command("busbar")
    .description("One control plane for jobs on machines, clusters and edges.")
    .usage("[options] <command>")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .enablePositionalOptions() // so that `submit` can leave its command's flags alone
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.writeOut(text),
      writeErr: (text) => output.writeErr(text),
      outputError: () => undefined, // runCli prints errors, as text or as JSON
      getOutHelpWidth: () => output.width ?? 100,
      getErrHelpWidth: () => output.width ?? 100,
    })
    .addHelpText("after", EXAMPLES);
  addGlobalFlags(program);
  refuseRepeatedFlags(program);
  for (const { name, group, summary } of nouns) {
    program.command(name).description(summary).helpGroup(group);
  }
  program.addHelpCommand(
    new Command("help [command]").description("Show help for a command.").helpGroup("More:"),
  );
  program.on("command:*", ([word = ""]: readonly string[]) => {
    const meant = meantCommand(
      word,
      nouns.map(({ name }) => name),
    );
    throw new AppError("invalid_argument", `unknown command "${word}"${meant}`);
  });
  program.hook("preSubcommand", (_, command) => declare(command, shell));
  return program;
}

/** Gives a command its flags, subcommands and code. */
async function declare(command: Command, shell: Shell): Promise<void> {
  const noun = nouns.find(({ name }) => name === command.name());
  if (noun === undefined) return;
  (await noun.load())(command, shell);
  for (const each of [command, ...command.commands]) {
    each.helpOption("-h, --help", "show help").helpCommand(false);
    addGlobalFlags(each);
    refuseRepeatedFlags(each);
  }
}

/** The whole tree, for completion. */
export async function declareAll(program: Command, shell: Shell): Promise<void> {
  for (const command of program.commands) await declare(command, shell);
}

/** "help nodes drain" is "nodes drain --help": Commander's own help knows only loaded commands. */
function withHelpFlag(argv: readonly string[]): readonly string[] {
  const at = commandAt(argv);
  if (argv[at] !== "help") return argv;
  const [flags, asked] = [argv.slice(0, at), argv.slice(at + 1)];
  const word = asked[0] ?? "-";
  const isKnown =
    word.startsWith("-") || word === "help" || nouns.some(({ name }) => name === word);
  if (!isKnown) return [...flags, word]; // with --help it would have the help of all
  return [...flags, ...asked, "--help"];
}

/** After the flags of the program itself. */
function commandAt(argv: readonly string[]): number {
  let at = 0;
  for (let word = argv[at]; word?.startsWith("-") === true; word = argv[at]) {
    at += word === "--server" || word === "--output" || word === "-o" ? 2 : 1;
  }
  return at;
}
