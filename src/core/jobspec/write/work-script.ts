import { quoteShell, joinShell } from "../../../lib/shell.ts";
import { unreachable } from "../../../lib/invariant.ts";
import type { Run, ScriptFile, TaskWork } from "../model.ts";

/** The work of a task on one node: a command, or a script. */
export type PlainWork =
  | { readonly kind: "command"; readonly argv: readonly string[] }
  | { readonly kind: "script"; readonly text: string }
  /** It requires a feature that nodes without a shared file system lack. */
  | { readonly kind: "impossible"; readonly reason: string };

/**
 * Combines steps, scripts and command into one script or command. Files are written to the
 * directory in which the task runs. Steps run one after the other; the first that fails ends the
 * task.
 */
export function plainWork({ run, scripts, steps }: TaskWork): PlainWork {
  if (steps.length === 0 && scripts.length === 0 && run !== undefined) return run;
  const lines: string[] = [];
  const written = new Set<string>(); // with the directory: steps may write a file to several
  let isShared = true;
  let directory = ".";
  const enter = (): string => (directory === "." ? "" : `cd ${quoteShell(directory)} && `);
  for (const step of steps) {
    switch (step.kind) {
      case "set-shared":
        isShared = step.isShared ?? true;
        break;
      case "set-directory":
        directory = step.directory ?? ".";
        if (directory !== ".") lines.push(`mkdir -p -- ${quoteShell(directory)}`);
        break;
      case "stage":
        if (!isShared && !written.has(`${directory}/${step.path}`)) {
          const reason = `cannot stage ${step.path}: nothing copies files to the nodes`;
          return { kind: "impossible", reason };
        }
        break; // The task is there already.
      case "write":
        lines.push(...writeLines(scriptNamed(scripts, step.script), directory, step.isExecutable));
        written.add(`${directory}/${step.script}`);
        break;
      case "submit":
      case "batch": {
        const script = scriptNamed(scripts, step.script);
        const path = `${directory}/${script.name}`;
        if (!written.has(path)) lines.push(...writeLines(script, directory, true));
        written.add(path);
        lines.push(`(${enter()}${runLine(script)})`);
        break;
      }
      default:
        return unreachable(step);
    }
  }
  // Without steps the scripts are there for the command to use.
  if (steps.length === 0) {
    for (const script of scripts) lines.push(...writeLines(script, directory, true));
  }
  if (run !== undefined) lines.push(`${enter()}${joinShell(argvOf(run))}`);
  return { kind: "script", text: `${["#!/bin/sh", "set -e", ...lines].join("\n")}\n` };
}

const scriptNamed = (scripts: readonly ScriptFile[], name: string): ScriptFile =>
  scripts.find((each) => each.name === name) ?? { name, content: "" };

/** Replaced atomically: another process of the task may be running the existing file. */
function writeLines(script: ScriptFile, directory: string, isExecutable: boolean): string[] {
  const path = quoteShell(`${directory}/${script.name}`);
  const write = `printf %s ${quoteShell(script.content)} >${path}.$$`;
  const executable = isExecutable ? [`chmod +x -- ${path}.$$`] : [];
  return [write, ...executable, `mv -f -- ${path}.$$ ${path}`];
}

/** By its #! line if it has one; else by bash, which authors of such scripts expect. */
const runLine = ({ name, content }: ScriptFile): string =>
  content.startsWith("#!")
    ? `chmod +x -- ${quoteShell(`./${name}`)} && ${quoteShell(`./${name}`)}`
    : `/bin/bash -- ${quoteShell(`./${name}`)}`;

/** Writes the script to a file of its own, so that its #! line takes effect. */
const RUN_SCRIPT =
  'd=$(mktemp -d) && printf %s "$1" >"$d/script" && chmod +x "$d/script" && "$d/script"; ' +
  'code=$?; rm -rf "$d"; exit $code';

/** A script as a command. */
export function argvOf(run: Run): readonly string[] {
  if (run.kind === "command") return run.argv;
  const [, shell] = /^#!\s*(\/(?:usr\/)?bin\/(?:ba)?sh)\s*\n/.exec(run.text) ?? [];
  if (shell !== undefined) return [shell, "-c", run.text];
  if (!run.text.startsWith("#!")) return ["/bin/sh", "-c", run.text];
  return ["/bin/sh", "-c", RUN_SCRIPT, "script", run.text];
}
