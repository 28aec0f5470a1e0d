import { joinShell } from "../../lib/shell.ts";
import { formatBytes, formatDuration } from "../../lib/units.ts";
import type { DependencyRow, JobRow, SelectRow, SpecRow } from "../rows.ts";
import { countsText, firstLine } from "../render/jobs.ts";
import { cut, type TerminalPage } from "../render/page.ts";
import { requestText } from "../render/request.ts";
import { renderFields } from "../render/table.ts";
import {
  ago,
  moment,
  pairs,
  progressText,
  resources,
  stateStyle,
  took,
  usageFields,
} from "../render/values.ts";

/** Everything about one job, above its tasks. */
export function renderJob(job: JobRow, page: TerminalPage): string {
  const { spec } = job;
  const at = (ms: number | undefined) =>
    ms === undefined ? "" : `${moment(ms)} (${ago(ms, page.nowMs)})`;
  return renderFields(
    [
      ["Job", job.id],
      ["Name", spec.name],
      ["State", job.state, stateStyle(job.state)],
      ["Reason", job.reason ?? ""],
      ["Exit code", job.exitCode === undefined ? "" : String(job.exitCode)],
      ["Tasks", job.taskTotal > 1 ? `${job.taskTotal}: ${countsText(job.tasks)}` : ""],
      ["Submitted", at(job.submittedAtMs) + (job.submittedBy ? ` by ${job.submittedBy}` : "")],
      ["Cancelled by", job.cancelledBy ?? ""],
      ["On hold", holdText(job)],
      ["Changed by", job.changedBy ?? ""],
      ["Started", at(job.startedAtMs)],
      ["Ended", at(job.endedAtMs)],
      ["Took", took(job, page.nowMs)],
      ["Progress", progressText(job)],
      ["Energy", energyText(job)],
      ...usageFields(job),
      ["Instance", instanceText(job)],
      ["Restarts", job.restarts === undefined ? "" : String(job.restarts)],
      ["Group", spec.group],
      ...specFields(spec),
      ["Idempotency key", job.idempotencyKey ?? ""],
    ],
    page,
  );
}

/** "by ada", "3 tasks, by ada". */
function holdText({ heldBy, heldTasks = 0, taskTotal }: JobRow): string {
  if (heldBy === undefined) return "";
  const some = heldTasks === 1 ? "1 task" : `${heldTasks} tasks`;
  return heldTasks < taskTotal ? `${some}, by ${heldBy}` : `by ${heldBy}`;
}

/** "web-2 of service web, generation 3". */
const instanceText = ({ instance }: JobRow): string =>
  instance === undefined
    ? ""
    : `${instance.name} of service ${instance.service}, generation ${instance.generation}`;

/** "always, after 1s to 5m". */
function restartText({ service }: SpecRow): string {
  if (service === undefined) return "";
  const { restart = "", backoffMs = 0, backoffMaxMs = 0 } = service;
  if (restart === "never") return restart;
  return `${restart}, after ${formatDuration(backoffMs)} to ${formatDuration(backoffMaxMs)}`;
}

/** "400 Ws: 300 done, 60 in shares, 40 not placed". */
function energyText({ energy }: JobRow): string {
  if (energy === undefined) return "";
  const { wattSeconds, doneWattSeconds: done, unplacedWattSeconds: left } = energy;
  const parts = { done, "in shares": wattSeconds - done - left, "not placed": left };
  const some = Object.entries(parts).filter(([, amount]) => amount > 0);
  const text = some.map(([name, amount]) => `${amount} ${name}`).join(", ");
  return text === "" ? `${wattSeconds} Ws` : `${wattSeconds} Ws: ${text}`;
}

function splitText({ energy }: SpecRow): string {
  if (energy === undefined) return "";
  const { split = "earliest", leastShare = 1, greatestShare = energy.wattSeconds } = energy;
  return `${split}, in shares of ${leastShare} to ${greatestShare} Ws`;
}

function directoryText({ cwd, submitDirectory }: SpecRow): string {
  if (cwd !== undefined || submitDirectory === undefined) return cwd ?? "";
  return `${submitDirectory} where a node has it`;
}

function specFields(spec: SpecRow): [string, string][] {
  const { placement, retries } = spec;
  const time = (ms: number | undefined) => (ms === undefined ? "" : formatDuration(ms));
  return [
    ["Command", spec.command === undefined ? "" : joinShell(spec.command)],
    ["Script", spec.script === undefined ? "" : firstLine(spec.script)],
    ["Jobspec", spec.jobspec === undefined ? "" : firstLine(spec.jobspec)],
    ["Workload", spec.workload === undefined ? "" : firstLine(spec.workload)],
    ["Array", spec.array ?? ""],
    ["Split", splitText(spec)],
    ["Directory", directoryText(spec)],
    ["Environment", pairs(spec.env)],
    ["Labels", pairs(spec.labels)],
    // The amounts of a request are only approximate.
    ["Needs", spec.request === undefined ? resources(spec.resources ?? {}) : ""],
    ["Request", requestText(spec.request)],
    ["Select", spec.select === undefined ? "" : selectText(spec.select)],
    ["Clusters", placement?.kind === undefined ? "" : `${placement.kind} only`],
    ["Cluster", placement?.cluster ?? ""],
    ["Node", placement?.node ?? ""],
    ["Node labels", pairs(placement?.labels)],
    ["Depends on", (spec.dependsOn ?? []).map(dependency).join("; ")],
    ["Priority", spec.priority === 0 ? "" : String(spec.priority)],
    ["Retries", retries === undefined ? "" : String(retries.max)],
    ["Restart", restartText(spec)],
    ["Time limit", time(spec.timeLimitMs)],
    ["Queue deadline", time(spec.queueDeadlineMs)],
    ["Output limit", spec.outputLimitBytes === undefined ? "" : formatBytes(spec.outputLimitBytes)],
    ...otherFields(spec),
  ];
}

/** Shown above, or not worth a line. */
const SHOWN: ReadonlySet<string> = new Set<keyof SpecRow>([
  ...(["name", "group", "command", "script", "jobspec", "array", "cwd", "env"] as const),
  ...(["labels", "workload"] as const),
  ...(["resources", "request", "select", "placement", "dependsOn", "priority", "retries"] as const),
  ...(["service"] as const),
  ...(["energy", "timeLimitMs", "queueDeadlineMs", "outputLimitBytes", "killGraceMs"] as const),
  ...(["submitDirectory", "submitDirectoryId"] as const),
]);

/** A field without its own text is shown by its name: a new field needs no code here. */
const otherFields = (spec: SpecRow): [string, string][] =>
  Object.entries(spec)
    .filter(([name]) => !SHOWN.has(name))
    .map(([name, value]) => {
      const words = name
        .replace(/Ms$/, "")
        .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
      return [words.charAt(0).toUpperCase() + words.slice(1), otherText(name, value)];
    });

/** The entries of tasks alone may have a megabyte. */
const OTHER_WIDTH_MAX = 200;

/** By the unit that ends the name of a field. */
function otherText(name: string, value: unknown): string {
  if (typeof value === "number" && name.endsWith("AtMs")) return moment(value);
  if (typeof value === "number" && name.endsWith("Ms")) return formatDuration(value);
  return typeof value === "string" ? value : cut(JSON.stringify(value), OTHER_WIDTH_MAX);
}

/** The maximum width of parameters and options. */
const SELECT_WIDTH_MAX = 100;

/** "cheapest", "constraint (options {…}; n=4)", "the server's (n=4)". */
function selectText({ strategy = "the server's", options, parameters = {} }: SelectRow): string {
  const hasOptions = options !== undefined && JSON.stringify(options) !== "{}";
  const texts = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  const more = [
    ...(hasOptions ? [`options ${JSON.stringify(options)}`] : []),
    ...(texts.length === 0 ? [] : [pairs(Object.fromEntries(texts) as Record<string, string>)]),
  ].map((text) => cut(text, SELECT_WIDTH_MAX));
  return more.length === 0 ? strategy : `${strategy} (${more.join("; ")})`;
}

/** How many names of a job's dependencies are shown. */
const NAMES_SHOWN = 20;

/** "afterok build, test", "afterany 2 of a, b, c", "singleton nightly". */
function dependency({ kind, on = [], atLeast, name }: DependencyRow): string {
  if (name !== undefined) return `${kind} ${name}`;
  const names = on.slice(0, NAMES_SHOWN).join(", ");
  const more = on.length > NAMES_SHOWN ? ` and ${on.length - NAMES_SHOWN} more` : "";
  return `${kind} ${atLeast === undefined ? "" : `${atLeast} of `}${names}${more}`;
}
