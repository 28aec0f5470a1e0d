import { Command } from "commander";
import { AppError, invalid } from "../../../lib/errors.ts";
import { type JobOptions, readSbatchWord } from "./sbatch-options.ts";

/** The directives of a script, and the ignored ones. */
export interface Directives {
  /** As words of a command line of `busbar submit`. */
  readonly words: readonly string[];
  /** Ignored options of sbatch, in their order. */
  readonly ignored: readonly string[];
  /** Options of sbatch that the whole job gives a meaning; the last of each counts, as in Slurm. */
  readonly job: JobOptions;
}

const MARK = /^#(BUSBAR|SBATCH)\s+(.*)$/;
/** Words may have quotes anywhere: --job-name="a b" is one. */
const WORD = /(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'])+/g;
const QUOTED = /"((?:[^"\\]|\\.)*)"|'([^']*)'/g;

/**
 * Reads the lines "#BUSBAR --cpu 2" and "#SBATCH --cpus-per-task=2" above the first command of a script. Supports a known set of sbatch
 * options.
 */
export function readDirectives(script: string): Directives {
  const words: string[] = [];
  const ignored: string[] = [];
  let job: JobOptions = {};
  for (const line of script.split(/\r?\n/)) {
    if (line.trim() !== "" && !line.startsWith("#")) break;
    const [, kind, rest = ""] = MARK.exec(line) ?? [];
    if (kind === undefined) continue;
    const given = wordsIn(rest);
    if (kind === "BUSBAR") words.push(...given);
    else {
      for (const option of optionsIn(given)) {
        const meaning = readSbatchWord(option);
        if (meaning === undefined) ignored.push(option.name);
        else words.push(...meaning.words);
        job = { ...job, ...meaning?.job };
      }
    }
  }
  return { words, ignored, job };
}

/** Words up to a comment, without their quotes. */
function wordsIn(text: string): string[] {
  const words: string[] = [];
  let end = 0;
  for (const found of text.matchAll(WORD)) {
    const [word] = found;
    checkQuotes(text, end, found.index);
    end = found.index + word.length;
    if (word.startsWith("#")) return words;
    words.push(word.replaceAll(QUOTED, withoutQuotes));
  }
  checkQuotes(text, end, text.length);
  return words;
}

const withoutQuotes = (_: string, double?: string, single?: string): string =>
  double?.replaceAll(/\\(.)/g, "$1") ?? single ?? "";

/** Only a quote without its end is between words. */
function checkQuotes(text: string, from: number, to: number): void {
  if (!/["']/.test(text.slice(from, to))) return;
  throw invalid("--script", `in the script: a quote is not closed in "${text.trim()}"`);
}

export interface SbatchOption {
  readonly name: string;
  readonly value: string | undefined;
}

/** "--time=5", "--time 5", "-t 5" and "-t5". */
function optionsIn(words: readonly string[]): SbatchOption[] {
  const options: SbatchOption[] = [];
  for (const word of words) {
    const last = options.at(-1);
    if (!word.startsWith("-")) {
      if (last === undefined || last.value !== undefined)
        options.push({ name: word, value: undefined });
      else options[options.length - 1] = { ...last, value: word };
      continue;
    }
    const at = word.startsWith("--") ? word.indexOf("=") : word.length > 2 ? 2 : -1;
    const name = at < 0 ? word : word.slice(0, at);
    const value = at < 0 ? undefined : word.slice(word[at] === "=" ? at + 1 : at);
    options.push({ name, value });
  }
  return options;
}

/** The flags that directives mean. Errors say that the script is wrong. */
export function parseDirectives(
  { words }: Directives,
  addFlags: (command: Command) => void,
): Readonly<Record<string, unknown>> {
  const command = new Command("directives").exitOverride().configureOutput({
    writeErr: () => undefined,
    outputError: () => undefined,
  });
  addFlags(command);
  try {
    command.parse([...words], { from: "user" });
  } catch (error) {
    const text = error instanceof Error ? oneLine(error.message) : "";
    const field = error instanceof AppError ? (error.field ?? "--script") : "--script";
    throw invalid(field, `in the script: ${text.replace(`${field}: `, "")}`);
  }
  if (command.args.length > 0) {
    throw invalid("--script", `in the script: "${command.args[0]}" belongs to no flag`);
  }
  const flags = command.opts();
  if ("script" in flags)
    throw invalid("--script", "in the script: a script cannot name another one");
  return flags;
}

/** A guess follows on a line of its own. */
const oneLine = (text: string): string => text.replace(/^error: /, "").replaceAll(/\s*\n\s*/g, " ");
