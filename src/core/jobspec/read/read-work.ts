import { splitShell } from "../../../lib/shell.ts";
import type { Run, ScriptFile, Step, TaskWork } from "../model.ts";
import {
  reportProblem,
  fieldsOf,
  flagOf,
  isMap,
  isText,
  itemsOf,
  type Place,
  quote,
  suggest,
  textOf,
} from "./reader.ts";

/** The fields that define the work of a task; the experimental dialect calls `steps` transform. */
export interface WorkFields {
  readonly command: Place | undefined;
  readonly script: Place | undefined;
  readonly scripts: Place | undefined;
  readonly steps: Place | undefined;
  /** The key that names the kind of a step. */
  readonly stepKey: "name" | "step";
}

export function readWork(task: Place, fields: WorkFields): TaskWork {
  const { command, script } = fields;
  const scripts = fields.scripts === undefined ? [] : readScripts(fields.scripts);
  const steps = fields.steps === undefined ? [] : readSteps(fields.steps, fields.stepKey, scripts);
  if (command !== undefined && script !== undefined) {
    reportProblem(script, "write either command or script, not both");
  }
  const run = command === undefined ? script && readScript(script) : readCommand(command);
  const isGiven = command !== undefined || script !== undefined || fields.steps !== undefined;
  if (isGiven) return { scripts, steps, run };
  const [only, second] = scripts;
  if (only === undefined) reportProblem(task, "needs something to run: command, script or steps");
  else if (second === undefined) {
    return { scripts: [], steps: [], run: { kind: "script", text: only.content } };
  } else reportProblem(task, "has several scripts: name the one to run in steps or command");
  return { scripts, steps, run };
}

function readScript(place: Place): Run | undefined {
  const text = textOf(place);
  if (text?.trim() === "") return reportProblem(place, "is empty");
  return text === undefined ? undefined : { kind: "script", text };
}

/**
 * A list of words; or a line: a script when it starts with #!, else words as a shell splits them.
 */
function readCommand(place: Place): Run | undefined {
  if (!isText(place)) {
    const words = itemsOf(place).map((word) => textOf(word) ?? "");
    if (place.tree.kind === "list" && words.length === 0) return reportProblem(place, "is empty");
    if (words[0] === "" && words.length > 0)
      return reportProblem(place, "must name a program to run");
    return { kind: "command", argv: words };
  }
  const line = textOf(place) ?? "";
  if (line.trimStart().startsWith("#!")) return { kind: "script", text: line.trimStart() };
  const argv = splitShell(line);
  if (argv === undefined)
    return reportProblem(place, "has an unclosed quote, or a backslash at its end");
  if ((argv[0] ?? "") === "") return reportProblem(place, "must name a program to run");
  return { kind: "command", argv };
}

function readScripts(place: Place): readonly ScriptFile[] {
  const seen = new Set<string>();
  return itemsOf(place).map((item) => {
    const fields = fieldsOf(item, ["name", "content"]);
    const [name, content] = [fields.get("name"), fields.get("content")];
    if (isMap(item) && name === undefined) reportProblem(item, 'needs "name"');
    if (isMap(item) && content === undefined) reportProblem(item, 'needs "content"');
    const file = name === undefined ? "" : (readFileName(name) ?? "");
    if (name !== undefined && seen.has(file)) reportProblem(name, `${quote(file)} appears twice`);
    seen.add(file);
    return { name: file, content: (content && textOf(content)) ?? "" };
  });
}

/** A name without a path, so that the file is in the directory of the task. */
function readFileName(place: Place): string | undefined {
  const name = textOf(place);
  if (name === undefined) return undefined;
  const isGood = name !== "" && name !== "." && name !== ".." && !/[/\p{Cc}]/u.test(name);
  return isGood
    ? name
    : reportProblem(place, `${quote(name)} is not the name of a file without a path`);
}

const STEP_KEYS = {
  stage: ["path", "filename"],
  write: ["filename", "executable"],
  submit: ["filename", "watch"],
  batch: ["filename"],
  set: ["key", "value"],
  unset: ["key"],
} as const;
type StepName = keyof typeof STEP_KEYS;
const stepNames = Object.keys(STEP_KEYS) as readonly StepName[];

function readSteps(
  place: Place,
  stepKey: WorkFields["stepKey"],
  scripts: readonly ScriptFile[],
): readonly Step[] {
  const items = itemsOf(place);
  if (place.tree.kind === "list" && items.length === 0) reportProblem(place, "is empty");
  return items.flatMap((item) => {
    const step = readStep(item, stepKey, scripts);
    return step === undefined ? [] : [step];
  });
}

function readStep(
  place: Place,
  stepKey: WorkFields["stepKey"],
  scripts: readonly ScriptFile[],
): Step | undefined {
  const every = [stepKey, ...new Set(Object.values(STEP_KEYS).flat())];
  const fields: ReadonlyMap<string, Place> = fieldsOf(place, every);
  const named = fields.get(stepKey);
  if (!isMap(place)) return undefined;
  if (named === undefined)
    return reportProblem(place, `needs "${stepKey}": ${stepNames.join(", ")}`);
  const name = textOf(named);
  const kind = stepNames.find((each) => each === name);
  if (kind === undefined) {
    return reportProblem(
      named,
      `there is no step ${quote(name ?? "")}${suggest(named, name ?? "", stepNames)}`,
    );
  }
  const allowed: readonly string[] = STEP_KEYS[kind];
  for (const [key, value] of fields) {
    if (key !== stepKey && !allowed.includes(key))
      reportProblem(value, `a ${kind} step has no "${key}"`);
  }
  return toStep(place, kind, fields, scripts);
}

function toStep(
  place: Place,
  kind: StepName,
  fields: ReadonlyMap<string, Place>,
  scripts: readonly ScriptFile[],
): Step | undefined {
  const flag = (key: string): boolean => {
    const at = fields.get(key);
    return (at === undefined ? undefined : flagOf(at)) ?? false;
  };
  if (kind === "set" || kind === "unset") return readSetting(place, kind, fields);
  if (kind === "stage") {
    const path = fields.get("path") ?? fields.get("filename");
    if (path === undefined) return reportProblem(place, 'needs "path": the file to stage');
    return { kind, path: textOf(path) ?? "" };
  }
  const file = fields.get("filename");
  if (file === undefined) return reportProblem(place, 'needs "filename": one of scripts');
  const script = textOf(file) ?? "";
  const names = scripts.map(({ name }) => name);
  if (!names.includes(script)) {
    return reportProblem(
      file,
      `there is no script ${quote(script)}${suggest(file, script, names)}`,
    );
  }
  if (kind === "write") return { kind, script, isExecutable: flag("executable") };
  return kind === "batch" ? { kind, script } : { kind, script, isWatched: flag("watch") };
}

const SETTINGS = ["sharedfs", "stage"] as const;

function readSetting(
  place: Place,
  kind: "set" | "unset",
  fields: ReadonlyMap<string, Place>,
): Step | undefined {
  const [key, value] = [fields.get("key"), fields.get("value")];
  if (key === undefined) return reportProblem(place, `needs "key": ${SETTINGS.join(" or ")}`);
  const name = textOf(key);
  const setting = SETTINGS.find((each) => each === name);
  if (setting === undefined) {
    return reportProblem(
      key,
      `there is no setting ${quote(name ?? "")}${suggest(key, name ?? "", SETTINGS)}`,
    );
  }
  if (kind === "set" && value === undefined) return reportProblem(place, 'needs "value"');
  return setting === "sharedfs"
    ? { kind: "set-shared", isShared: value && flagOf(value) }
    : { kind: "set-directory", directory: value && textOf(value) };
}
