import { CommanderError } from "commander";
import { AppError, describeChain } from "../lib/errors.ts";
import { printable, printableJson } from "./render/page.ts";
import { isDocument, type OutputFormat } from "./formats/output-format.ts";
import { toYaml } from "./formats/yaml-text.ts";

/** The end of a failed command: its output, the stream for it, and the exit code. */
export interface Failure {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `format` decides where the message goes: JSON and YAML are data, which goes to stdout. */
export function toFailure(error: unknown, format: OutputFormat): Failure {
  if (error instanceof CommanderError && error.exitCode === 0) return done(0); // help, version
  if (isBrokenPipe(error)) return done(0);
  // The help was printed for an empty command line.
  if (isWithoutCommand(error) && !isDocument(format)) return done(2);
  const { code, message, field } = describe(error);
  const hint = HINTS[code];
  const exitCode = isUsage(error) ? 2 : 1;
  if (!isDocument(format)) {
    const more = hint === undefined ? "" : ` (${hint})`;
    return {
      exitCode,
      stdout: "",
      stderr: `busbar: ${printable(message, { colour: false })}${more}\n`,
    };
  }
  const body = {
    error: {
      code,
      message,
      ...(field === undefined ? {} : { field }),
      ...(hint === undefined ? {} : { hint }),
    },
  };
  const text = format === "yaml" ? toYaml(body) : `${printableJson(JSON.stringify(body))}\n`;
  return { exitCode, stdout: text, stderr: "" };
}

/** Converts the server's message, which is in the words of any caller, to those of the command line. */
const HINTS: Readonly<Record<string, string>> = { unschedulable: "--allow-unsatisfiable" };

const done = (exitCode: number): Failure => ({ exitCode, stdout: "", stderr: "" });

interface Description {
  readonly code: string;
  readonly message: string;
  readonly field?: string | undefined;
}

const isWithoutCommand = (error: unknown): boolean =>
  error instanceof CommanderError && error.code === "commander.help";

function describe(error: unknown): Description {
  if (isWithoutCommand(error)) {
    return { code: "invalid_argument", message: "a command is missing; --help lists them" };
  }
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, "").replace(/\s*\n\s*/g, " ");
    return { code: "invalid_argument", message };
  }
  if (!(error instanceof AppError)) return { code: "internal", message: describeChain(error) };
  // The text of a call's cause only repeats its message in worse words. Any other cause is the reason: "the store failed" does not help an
  // operator who has to free disk space.
  const repeats = error.code !== "internal" && isOfTheWire(error.cause);
  const message = repeats ? error.message : describeChain(error);
  return { code: error.code, message, field: error.field };
}

/** By its shape (CallError): loading the client to check it would slow down every command. */
const isOfTheWire = (cause: unknown): boolean => cause instanceof Error && "details" in cause;

/**
 * Whether the command line itself is wrong. An error of the server has the wire's error as its cause; an
 * error that was found here has none.
 */
const isUsage = (error: unknown): boolean =>
  error instanceof CommanderError ||
  (error instanceof AppError && USAGE.has(error.code) && error.cause === undefined);

const USAGE: ReadonlySet<string> = new Set(["invalid_argument", "unprocessable"]);

/** The reader of the output has closed it, as with `| head`: no one would read an error. */
export const isBrokenPipe = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "EPIPE";
