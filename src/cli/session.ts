import type { Command } from "commander";
import type { BusbarClient } from "../client/client.ts";
import type { Context } from "./context.ts";
import { type Format, resolveGlobals } from "./globals.ts";
import { type TerminalPage, printable, printableJson } from "./render/page.ts";

/** What a command found: one JSON value, or the same as text. Commands never print it themselves. */
export interface Answer {
  readonly json: unknown;
  text(page: TerminalPage): string;
  readonly exitCode?: number;
  /** A script or document made of the caller's own input: every character of it counts. */
  readonly isRaw?: true;
}

/** One run of one command. */
export interface Session {
  readonly context: Context;
  readonly format: Format;
  readonly servers: readonly string[];
  /** Loads the client on first use: commands without a server stay quick. */
  client(): Promise<BusbarClient>;
  /** Prints before the answer: one JSON value or a text, with a line end. */
  print(json: unknown, text: (page: TerminalPage) => string): Promise<void>;
  /** Says something to the person at the terminal that is not data. */
  note(message: string): Promise<void>;
}

/** How the run went; set by the command, read by whoever ends the process. */
export interface Outcome {
  exitCode: number;
  format: Format | undefined;
}

/** What `declare` functions get: the process, and how to run what they declare. */
export interface Shell {
  readonly context: Context;
  run(command: Command, work: (session: Session) => Promise<Answer | number>): Promise<void>;
}

export function createShell(context: Context, outcome: Outcome): Shell {
  return {
    context,
    async run(command, work) {
      const { format, servers } = resolveGlobals(command, context.env);
      outcome.format = format;
      let opened: BusbarClient | undefined;
      const session: Session = {
        context,
        format,
        servers,
        async client() {
          if (opened === undefined) {
            const { createClient } = await import("../client/client.ts");
            opened = createClient({ server: await chooseServer(servers) });
          }
          return opened;
        },
        print: (json, text) => context.stdout.write(`${show(session, { json, text })}\n`),
        note: (message) =>
          context.stderr.write(`busbar: ${printable(message, { colour: false })}\n`),
      };
      try {
        outcome.exitCode = await finish(session, await work(session));
      } finally {
        opened?.close();
      }
    },
  };
}

/** Of one alone a call says what is wrong with it. */
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

/** Whatever is printed comes through here: texts of other people must not command the terminal. */
function show({ context, format }: Session, answer: Answer): string {
  const page = pageOf(context);
  if (format === "json") return printableJson(JSON.stringify(answer.json));
  const text = answer.text(page);
  return answer.isRaw === true ? text : printable(text, page);
}

/** Tables are cut to a terminal's width; a file or a pipe gets all of it. */
export function pageOf(context: Context): TerminalPage {
  const { stdout, env } = context;
  const noColour = (env["NO_COLOR"] ?? "") !== "" || env["TERM"] === "dumb";
  return {
    width: stdout.isTerminal ? stdout.columns : undefined,
    colour: stdout.isTerminal && !noColour,
    nowMs: context.nowMs(),
  };
}
