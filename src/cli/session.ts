import type { Command } from "commander";
import type { BusbarClient } from "../client/client.ts";
import type { Context } from "./context.ts";
import type { RowsAnswer, ShownRows } from "./formats/answers.ts";
import { isDocument, type OutputFormat, refuseRowFormats } from "./formats/output-format.ts";
import { toYaml } from "./formats/yaml-text.ts";
import { resolveGlobals } from "./globals.ts";
import { type TerminalPage, printable, printableJson } from "./render/page.ts";

/** The result of a command: one JSON value, or the same as text. Commands never print it themselves. */
export interface Answer {
  readonly json: unknown;
  text(page: TerminalPage): string;
  readonly exitCode?: number;
  /** A script or document made from the caller's own input: every character of it counts. */
  readonly isRaw?: true;
  /** The rows, for formats that show only rows. */
  readonly rows?: ShownRows;
}

/** One run of one command. */
export interface Session {
  readonly context: Context;
  readonly output: OutputFormat;
  /** Whether it is a text for people (a table, or rows) or a value for programs (JSON, YAML). */
  readonly format: "table" | "json";
  readonly servers: readonly string[];
  /** Loads the client on first use: commands without a server stay fast. */
  client(): Promise<BusbarClient>;
  /** Prints before the answer, or without one: a value or a text, with a line end. */
  print(json: unknown, text: (page: TerminalPage) => string): Promise<void>;
  /** A message for the person at the terminal that is not data. */
  note(message: string): Promise<void>;
}

/** The exit code of the run; set by the command, read by the code that ends the process. */
export interface Outcome {
  exitCode: number;
  output: OutputFormat | undefined;
}

/** The argument of `declare` functions: the process, and how to run their commands. */
export interface Shell {
  readonly context: Context;
  run(command: Command, work: (session: Session) => Promise<Answer | number>): Promise<void>;
  /** Runs a command that lists or shows rows: it accepts every format. */
  list(command: Command, work: (session: Session) => Promise<RowsAnswer | number>): Promise<void>;
}

export function createShell(context: Context, outcome: Outcome): Shell {
  const start = async (
    command: Command,
    work: (session: Session) => Promise<Answer | number>,
    check: (output: OutputFormat) => void,
  ): Promise<void> => {
    const { output, servers } = resolveGlobals(command, context.env);
    outcome.output = output;
    check(output);
    let opened: BusbarClient | undefined;
    const session: Session = {
      context,
      output,
      format: isDocument(output) ? "json" : "table",
      servers,
      async client() {
        if (opened === undefined) {
          const { createLeanClient } = await import("../client/lean-client.ts");
          opened = createLeanClient({ server: await chooseServer(servers) });
        }
        return opened;
      },
      print: (json, text) =>
        context.stdout.write(`${between(session, show(session, { json, text }))}\n`),
      note: (message) => context.stderr.write(`busbar: ${printable(message, { colour: false })}\n`),
    };
    try {
      outcome.exitCode = await finish(session, await work(session));
    } finally {
      opened?.close();
    }
  };
  return {
    context,
    run: (command, work) => start(command, work, refuseRowFormats),
    list: (command, work) => start(command, work, () => undefined),
  };
}

/** Several YAML values are documents of one stream. */
const between = ({ output }: Session, text: string): string =>
  output === "yaml" ? `---\n${text}` : text;

/** A single server is not checked: the first call to it reports its error. */
async function chooseServer(servers: readonly string[]): Promise<string> {
  const [first = "", ...others] = servers;
  if (others.length === 0) return first;
  const { firstAnswering } = await import("../client/several-servers.ts");
  return firstAnswering(servers);
}

async function finish(session: Session, result: Answer | number): Promise<number> {
  if (typeof result === "number") return result;
  const { context } = session;
  const text = show(session, result);
  if (text !== "") await context.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  return result.exitCode ?? 0;
}

/** All output passes through here: texts of other people must not control the terminal. */
export function show(session: Session, answer: Answer): string {
  const { context, output } = session;
  if (output === "json") return printableJson(JSON.stringify(answer.json));
  if (output === "yaml") return toYaml(answer.json).trimEnd();
  const page = pageOf(context, output);
  if (output === "csv") return printable(answer.rows?.csv(page) ?? answer.text(page), page);
  if (output === "name")
    return printable(answer.rows?.names().join("\n") ?? answer.text(page), page);
  const text = answer.text(page);
  return answer.isRaw === true ? text : printable(text, page);
}

/** Tables are truncated to a terminal's width; a file or a pipe gets all of it, and so does `wide`. */
export function pageOf(context: Context, output: OutputFormat = "table"): TerminalPage {
  const { stdout, env } = context;
  const noColour = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  const isWide = output === "wide";
  return {
    width: stdout.isTerminal && !isWide ? stdout.columns : undefined,
    colour: stdout.isTerminal && !noColour && (isWide || output === "table"),
    ...(isWide ? { isWide } : {}),
    nowMs: context.nowMs(),
  };
}
