import { type Command, Option } from "commander";
import { isAbsolute } from "node:path";
import { invalid } from "../../lib/errors.ts";
import { notEmpty, oneOf } from "../flags.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { refuseUnknownSubcommand } from "../suggest/unknown-subcommand.ts";
import { unitNameOf, type UnitPart, unitText } from "./unit-text.ts";

const PARTS = ["server", "agent"] as const satisfies readonly UnitPart[];
const UNIT_FOLDER = "/etc/systemd/system";

interface ServiceFlags {
  readonly user?: string;
  readonly unitDir: string;
  readonly start: boolean;
}

export function declareService(command: Command, shell: Shell): void {
  command
    .usage("[options] [command]")
    .addHelpText(
      "after",
      `
What follows -- are flags of \`busbar server\` or \`busbar agent\`. The server gets a user of its own and its data in
/var/lib/busbar; the agent runs as the user that its tasks are to run as, with its data in /var/lib/busbar-agent.

Examples:
  busbar service install server -- --grpc 10.0.0.5:7071 --insecure-listen
  busbar service install agent --user sim -- --server control.example:7071
  busbar service show agent --user sim
  busbar service uninstall agent`,
    )
    .action(() => {
      refuseUnknownSubcommand(command);
      command.help();
    });
  const install = withPart(command, "install", "Make a unit of systemd, and start it.");
  addMakingFlags(install);
  addPlaceFlags(install)
    .option("--no-start", "write the unit only")
    .action((part: UnitPart, words: readonly string[], flags: ServiceFlags) =>
      shell.run(install, (session) => installUnit(session, part, words, flags)),
    );
  const show = withPart(command, "show", "Print the unit that install would write.");
  addMakingFlags(show).action((part: UnitPart, words: readonly string[], flags: ServiceFlags) =>
    shell.run(show, async (session) => {
      const text = await textOf(session, part, words, flags);
      return { json: { unit: unitNameOf(part), text }, text: () => text.trimEnd() };
    }),
  );
  const uninstall = withPart(command, "uninstall", "Stop it and remove its unit; data stays.");
  addPlaceFlags(uninstall).action((part: UnitPart, flags: ServiceFlags) =>
    shell.run(uninstall, (session) => uninstallUnit(session, part, flags)),
  );
  command.allowExcessArguments(); // last: subcommands, which have none to misspell, would inherit it
}

const withPart = (command: Command, name: string, summary: string): Command =>
  command
    .command(name)
    .description(summary)
    .argument("<part>", "server or agent", oneOf("<part>", PARTS));

const addMakingFlags = (command: Command): Command =>
  command
    .argument("[flags...]", "flags of that part, after --")
    .option("--user <name>", "of the agent: tasks run as this user", notEmpty("--user"));

const addPlaceFlags = (command: Command): Command =>
  command.addOption(
    new Option("--unit-dir <dir>", "where units are")
      .default(UNIT_FOLDER)
      .argParser(notEmpty("--unit-dir")),
  );

async function textOf(
  session: Session,
  part: UnitPart,
  flags: readonly string[],
  { user }: ServiceFlags,
): Promise<string> {
  if (part === "server" && user !== undefined)
    throw invalid("--user", "is for the agent; the server has a user of its own");
  const { program } = await session.context.services.units();
  if (!isAbsolute(program)) throw invalid("busbar", `its path ${program} is not absolute`);
  const text = unitText(part, { program, user, flags });
  const { checkPartFlags } = await import("./check-part-flags.ts"); // loads all flags of both parts
  await checkPartFlags(session, part, flags);
  return text;
}

async function installUnit(
  session: Session,
  part: UnitPart,
  words: readonly string[],
  flags: ServiceFlags,
): Promise<Answer> {
  const text = await textOf(session, part, words, flags);
  const units = await session.context.services.units();
  const { user } = flags;
  // systemd would try to start it for ever, and only the journal would say why.
  if (user !== undefined && !(await units.hasUser(user))) {
    throw invalid("--user", `there is no user ${user} on this machine; add it first (useradd)`);
  }
  const file = await units.install(flags.unitDir, unitNameOf(part), text, flags.start);
  const started = flags.start
    ? " and started it"
    : `; start it with systemctl enable --now ${unitNameOf(part)}`;
  return { json: { file, started: flags.start }, text: () => `Wrote ${file}${started}.` };
}

async function uninstallUnit(
  session: Session,
  part: UnitPart,
  flags: ServiceFlags,
): Promise<Answer> {
  const units = await session.context.services.units();
  const file = await units.uninstall(flags.unitDir, unitNameOf(part));
  const data = part === "server" ? "/var/lib/busbar" : "/var/lib/busbar-agent";
  return { json: { file }, text: () => `Removed ${file}; its data stays in ${data}.` };
}
