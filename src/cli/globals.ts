import { type Command, Option } from "commander";
import { parseAddress, SERVER_DEFAULT } from "../lib/address.ts";
import { invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Context } from "./context.ts";
import {
  isDocument,
  type OutputFormat,
  outputFormats,
  readOutputFormat,
} from "./formats/output-format.ts";
import { collecting } from "./single-flags.ts";

/** The flags of every command, before or after its name. */
export interface Globals {
  /** At least one; the next when one does not answer. */
  readonly servers: readonly string[];
  readonly output: OutputFormat;
}

/**
 * Adds the global flags to a command. They have no defaults here: a flag after the command's name
 * must win over one before it, which a default would hide.
 */
export function addGlobalFlags(command: Command): void {
  command
    .addOption(
      new Option(
        "--server <address>",
        `call this server; several: the first that answers (default: $BUSBAR_SERVER or ${SERVER_DEFAULT})`,
      )
        .argParser(collecting(servers))
        .helpGroup("Global options:"),
    )
    .addOption(
      new Option(
        "-o, --output <format>",
        "print a table, a wide table, one JSON or YAML value, or for lists CSV or names only (default: table)",
      )
        .choices(outputFormats)
        .argParser(readOutputFormat)
        .helpGroup("Global options:"),
    );
}

const checkedAddress = (text: string, field: string): string => {
  parseAddress(text, field);
  return text;
};

/** The flag several times, or addresses with commas. */
const servers = (text: string, sofar: readonly string[] = []): readonly string[] =>
  checkedServers([...sofar, ...text.split(",")], "--server");

function checkedServers(given: readonly string[], field: string): readonly string[] {
  for (const address of given) checkedAddress(address, field);
  if (given.length <= limits.serverAddressesMax) return [...new Set(given)];
  throw invalid(field, `at most ${limits.serverAddressesMax} addresses`);
}

/** The flags as given nearest to the command, then the environment, then the defaults. */
export function resolveGlobals(command: Command, env: Context["env"]): Globals {
  const fromEnv = env["BUSBAR_SERVER"];
  const servers =
    (given(command, "server") as readonly string[] | undefined) ??
    (fromEnv === undefined || fromEnv === ""
      ? [SERVER_DEFAULT]
      : checkedServers(fromEnv.split(","), "BUSBAR_SERVER"));
  return { servers, output: (given(command, "output") as OutputFormat | undefined) ?? "table" };
}

function given(command: Command | null, name: string): unknown {
  for (let at = command; at !== null; at = at.parent) {
    const value: unknown = at.getOptionValue(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The format for an error before the flags were read: a program that requested JSON or YAML must get it for its own mistakes too. */
export function guessFormat(argv: readonly string[]): OutputFormat {
  const end = argv.indexOf("--");
  const flags = end === -1 ? argv : argv.slice(0, end);
  return (
    outputFormats.find(
      (format) =>
        isDocument(format) &&
        flags.some(
          (flag, at) =>
            flag === `--output=${format}` ||
            flag === `-o${format}` ||
            ((flag === "--output" || flag === "-o") && flags[at + 1] === format),
        ),
    ) ?? "table"
  );
}
