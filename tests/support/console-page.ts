/** One step of a page. */
export interface Step {
  /** `command`: type it. `stop`: Ctrl-C in a terminal. `file`: write a file of this name. */
  readonly kind: "command" | "stop" | "file";
  /** The terminal of a command that continues; "": the reader's first one. */
  readonly terminal: string;
  readonly command: string;
  /** Its output, or the lines of the file. A line `...` matches any number of lines. */
  readonly expected: readonly string[];
}

/**
 * The steps of a page, in order. Blocks marked `console` have commands behind a prompt (`$ `, `server$ `, `server^C`) and below each what it
 * prints; a comment `file: NAME` names the block that follows it.
 */
export function readSteps(page: string): readonly Step[] {
  const blocks = page.matchAll(/(?:<!-- file: (\S+) -->\n)?```(\w+)[^\n]*\n([\s\S]*?)```/g);
  return [...blocks].flatMap(([, file, language, text = ""]) => {
    const lines = text.split("\n").slice(0, -1);
    if (file !== undefined) {
      return [{ kind: "file", terminal: "", command: file, expected: lines } as const];
    }
    return language === "console" ? readConsole(lines) : [];
  });
}

function readConsole(lines: readonly string[]): readonly Step[] {
  const steps: (Step & { expected: string[] })[] = [];
  for (const line of lines) {
    const [, terminal = "", prompt, command = ""] = /^(\w*)(\$ |\^C)(.*)$/.exec(line) ?? [];
    if (prompt === undefined) steps.at(-1)?.expected.push(line);
    else
      steps.push({ kind: prompt === "^C" ? "stop" : "command", terminal, command, expected: [] });
  }
  return steps;
}

/** Whether a program printed the output of a page, except times, sizes, ports and the reader's own machine. */
export function isLike(expected: readonly string[], printed: string): boolean {
  const pattern = expected.map((line) => (line === "..." ? "(?:.*\n)*?" : `${patternOf(line)}\n`));
  return new RegExp(`^${pattern.join("")}$`).test(normalize(printed));
}

/** The size of the reader's own machine, the node `first`, is not compared. */
function patternOf(line: string): string {
  const escaped = normalize(line).replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return line.startsWith("first ") ? escaped.replace(/\d+\/\d+/, String.raw`\d+/\d+`) : escaped;
}

const normalize = (text: string): string =>
  text
    .replaceAll(/--server \S+ /g, "")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:PORT")
    .replaceAll(/^(Data:\s+)\S+/gm, "$1DIRECTORY")
    .replaceAll(/^(Try:\s+)(?:\.\/)?busbar /gm, "$1COMMAND ") // by its directory, or by the search path
    .replaceAll(/\b\d+(?:ms|s|m|h) ago\b/g, "now")
    .replaceAll(/\b\d+(?:\.\d+)?(?:ms|s)\b/g, "TIME")
    .replaceAll(/\b[\d.]+(?:B|[KMGT]iB)(?:\/[\d.]+(?:B|[KMGT]iB))?/g, "SIZE")
    .replaceAll("is being cancelled", "is cancelled") // its process decides which of both
    .replaceAll(/[ \t]+$/gm, "")
    .replaceAll(/[ \t]+/g, " ");
