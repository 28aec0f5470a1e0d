import type { RunEnd, RunReport } from "../../../ports/executor.ts";
import { REFUSALS, signalName } from "../../runs/command-outcome.ts";

/** The first line of a run's file, written by the process that claims it. */
export interface RemoteRunTerms {
  readonly sentAtMs: number;
  readonly outputLimitBytes: number;
  /** Its own working directory; undefined: the run named one. */
  readonly work: string | undefined;
  /** For messages. */
  readonly program: string;
}

export const formatTerms = ({
  sentAtMs,
  outputLimitBytes,
  work,
  program,
}: RemoteRunTerms): string => {
  const plain = program.replaceAll(/\s+/g, " ");
  return `terms ${sentAtMs} ${outputLimitBytes} ${work ?? "-"} ${plain}`;
};

export function parseTerms(line: string): RemoteRunTerms | undefined {
  const [, sent, limit, work, program = ""] = /^terms (\d+) (\d+) (\S+) ?(.*)$/.exec(line) ?? [];
  if (sent === undefined || !isNumber(Number(sent))) return undefined;
  return {
    sentAtMs: Number(sent),
    outputLimitBytes: Number(limit),
    work: work === "-" ? undefined : work,
    program,
  };
}

/** For an unknown run. */
export const NO_TERMS: RemoteRunTerms = {
  sentAtMs: 0,
  outputLimitBytes: 0,
  work: undefined,
  program: "",
};

type Ended = Extract<RunReport, { kind: "ended" }>;

/** The state of one run, as its remote machine has it. */
export interface RunFile {
  readonly terms: RemoteRunTerms | undefined;
  /** Undefined: it has not begun. In a chain it begins later than it was sent. */
  readonly startedAtMs: number | undefined;
  /** Claimed by a wrapper that has not recorded its identity yet. */
  readonly isOnlyClaimed: boolean;
  /** Undefined: it is active. */
  readonly report: Ended | undefined;
  readonly bytes: number;
  /** The run has left its directory empty. */
  readonly isClean: boolean;
  /** The beginning of its output. Only a whole answer of START has it; otherwise it is empty. */
  readonly heads: { readonly stdout: Uint8Array; readonly stderr: Uint8Array };
}

/** Parses the lines that the scripts print; undefined: they describe no run. */
export function parseRunFile(lines: readonly string[], isStopped: boolean): RunFile | undefined {
  const terms = parseTerms(lines.find((line) => line.startsWith("terms ")) ?? "");
  if (terms === undefined && !lines.includes("claimed") && !lines.includes("end")) return undefined;
  const heads = { stdout: headOf(lines, "stdout"), stderr: headOf(lines, "stderr") };
  return {
    terms,
    startedAtMs: terms === undefined ? undefined : startedAt(lines, terms),
    isOnlyClaimed: lines.includes("claimed"),
    report: lines.at(-1) === "end" ? reportOf(lines, terms, isStopped) : undefined,
    bytes: heads.stdout.bytes + heads.stderr.bytes,
    isClean: lines.includes("clean"),
    heads: { stdout: heads.stdout.head, stderr: heads.stderr.head },
  };
}

/** It was claimed, and either begins in a moment or never will: its gate may be closed. */
export const isUnsettled = (lines: readonly string[]): boolean =>
  !lines.includes("end") && !lines.some((line) => line.startsWith("began "));

/** "stdout 3 61 62 63": the length of an output, and its beginning. */
function headOf(lines: readonly string[], stream: string) {
  const line = lines.find((each) => each.startsWith(`${stream} `)) ?? "";
  const [, bytes = "0", ...hex] = line.split(/ +/);
  return { bytes: Number(bytes) || 0, head: Buffer.from(hex.join(""), "hex") };
}

function reportOf(
  lines: readonly string[],
  terms: RemoteRunTerms = NO_TERMS,
  isStopped: boolean,
): Ended {
  const end = endOf(lines, terms, isStopped || lines.includes("stopping"));
  const endedAtMs = endedAt(lines, terms);
  const isUnstarted = end.kind === "could-not-start" || end.kind === "node-fault";
  const hasBegun = !isUnstarted && !lines.includes("stopped");
  const startedAtMs = hasBegun ? (startedAt(lines, terms) ?? terms.sentAtMs) : undefined;
  return { kind: "ended", startedAtMs, endedAtMs, end };
}

/** The time when its chain began; by the machine's own uptime, as its clock may be wrong. */
function startedAt(lines: readonly string[], { sentAtMs }: RemoteRunTerms): number | undefined {
  const [began, chainBegan = began] = numbersOf(lines, "began") ?? [];
  return began === undefined ? undefined : sentAtMs + millisBetween(chainBegan, began);
}

function endedAt(lines: readonly string[], terms: RemoteRunTerms): number {
  const vanished = numbersOf(lines, "vanished")?.[0];
  const startedAtMs = startedAt(lines, terms) ?? terms.sentAtMs;
  if (vanished !== undefined) return Math.max(startedAtMs, Math.round(vanished));
  const ended = numbersOf(lines, "ended")?.[0];
  return startedAtMs + millisBetween(numbersOf(lines, "began")?.[0], ended);
}

/** Of uptimes in seconds. */
const millisBetween = (from: number | undefined, to: number | undefined): number =>
  from === undefined || to === undefined ? 0 : Math.max(0, Math.round((to - from) * 1_000));

/** Undefined: there is none, or the line is damaged. A report with such a number would be rejected again and again. */
function numbersOf(lines: readonly string[], word: string): number[] | undefined {
  const line = lines.find((each) => each.startsWith(`${word} `));
  const numbers = line?.split(" ").slice(1).map(Number);
  return numbers?.every(isNumber) === true ? numbers : undefined;
}

/** Times as a machine has them: sums of them are exact, too. */
const isNumber = (value: number): boolean => value >= 0 && value < NUMBERS_MAX;
const NUMBERS_MAX = 2 ** 48;

/** After a stop order or the time limit, that is the end of the run, whatever its command did then. */
function endOf(
  lines: readonly string[],
  { program, work }: RemoteRunTerms,
  isStopped: boolean,
): RunEnd {
  const exitCode = numbersOf(lines, "ended")?.[1];
  const signal =
    exitCode !== undefined && exitCode > 128 && lines.includes("said")
      ? signalName(exitCode - 128)
      : undefined;
  if (lines.includes("overtime")) return { kind: "time-limit", signal };
  if (isStopped) return { kind: "stopped", signal };
  if (lines.includes("nowhere")) {
    // A missing directory of its own is the machine's fault, a missing named one is not.
    if (work !== undefined)
      return { kind: "node-fault", message: "its machine cannot make a directory" };
    return { kind: "could-not-start", message: REFUSALS["no-directory"](program) };
  }
  if (lines.includes("unwritten")) {
    return { kind: "node-fault", message: "its machine cannot write its script to the disk" };
  }
  if (lines.includes("unstarted")) {
    const why = exitCode === 127 ? "not-found" : "not-executable";
    return { kind: "could-not-start", message: REFUSALS[why](program) };
  }
  if (exitCode === undefined || !(exitCode >= 0 && exitCode <= 255)) {
    return { kind: "vanished", message: "the shell that waited for it on its machine was killed" };
  }
  return signal === undefined ? { kind: "exited", exitCode } : { kind: "signalled", signal };
}

/** The output of START: lines of each run that it has run. The beginnings of their outputs come last. */
export interface ChainReply {
  readonly runs: ReadonlyMap<string, readonly string[]>;
  /** False: it was killed, and may have run more than it reports. */
  readonly isWhole: boolean;
}

export function parseReply(text: string): ChainReply {
  const runs = new Map<string, string[]>();
  let current: string[] = [];
  const lines = linesOf(text);
  const isWhole = lines.at(-1) === "all";
  if (isWhole) lines.pop();
  for (const line of lines) {
    const output = OUTPUT.exec(line)?.groups;
    if (output !== undefined) {
      current = runs.get(output["key"] ?? "") ?? [];
      current.unshift(`${output["stream"]} ${output["bytes"]}${hexOf(output)}`); // `end` stays last
    } else if (line.startsWith("run ")) {
      runs.set(line.slice("run ".length), (current = []));
    } else if (line.startsWith(" ")) {
      current[0] += line; // more of the same output, in hex
    } else {
      current.push(line);
    }
  }
  return { runs, isWhole };
}

/** "output 1.0.1.stdout 3 line 1 ab": one line of text, and whether a newline follows; otherwise hex follows. */
const OUTPUT =
  /^output (?<key>[\d.]+)\.(?<stream>\w+) (?<bytes>\d+) (hex|line (?<isEnded>[01]) (?<text>.*))$/;

function hexOf({ text, isEnded }: Readonly<Record<string, string | undefined>>): string {
  if (text === undefined) return "";
  return ` ${Buffer.from(isEnded === "1" ? `${text}\n` : text).toString("hex")}`;
}

/** The output of SURVEY: lines of each run. Undefined: it is truncated. */
export function parseSurvey(text: string): Map<string, readonly string[]> | undefined {
  const lines = linesOf(text);
  if (lines.pop() !== "all") return undefined;
  const runs = new Map<string, string[]>();
  let current: string[] | undefined;
  for (const line of lines) {
    if (line.startsWith("run ")) runs.set(line.slice("run ".length), (current = []));
    else current?.push(line);
  }
  return runs;
}

/** Complete records. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  lines.pop();
  return lines;
}
