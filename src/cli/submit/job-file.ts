import type { JobSubmissionInit } from "../../client/messages.ts";
import { JobSpecSchema } from "../../client/schemas.ts";
import { readResourceChoice } from "../../core/graph/request/read-request.ts";
import { invalid } from "../../lib/errors.ts";
import { fromJson } from "../../wire/read-json.ts";
import { limits } from "../../limits.ts";
import { arraySpec, duration, parseAmount, wholeNumber } from "../flags.ts";
import { beginTime } from "./flags/begin-flag.ts";
import { readDependencies } from "./job-dependencies.ts";
import { toWireSelection, type WireSelection } from "./select-flags.ts";
import { toSelectOptions } from "./select-options.ts";
import { toWireValue } from "../clusters/state-values.ts";
import { type DescField, fileKey, truth, valueReader } from "../yaml/yaml-message.ts";
import { readYaml, type Value } from "../yaml/yaml-value.ts";

type Spec = Exclude<NonNullable<JobSubmissionInit["spec"]>, { $typeName: string }>;
type Retries = NonNullable<Spec["retries"]>;

/** Fields that people write in another form than the wire. */
const FORMS: Readonly<Record<string, (value: Value) => Spec>> = {
  command: (value) => ({ command: readCommand(value) }),
  resources: (value) => ({ resources: readResources(value) }),
  request: (value) => ({ request: readRequest(value) }),
  select: (value) => ({ select: readSelect(value) }),
  array: (value) => ({ array: arraySpec(value.at)(value.text()) }),
  retries: (value) => ({ retries: readRetries(value) }),
  dependsOn: (value) => ({ dependsOn: readDependencies(value) }),
  beginAtMs: (value) => ({ beginAtMs: BigInt(beginTime(value.at, Date.now)(value.text())) }),
};

/** The part of a job for one key: all fields of a JobSpec except a whole jobspec, in the order of the schema. */
const FIELDS: ReadonlyMap<string, (value: Value) => Spec> = new Map<string, (value: Value) => Spec>(
  [
    ...JobSpecSchema.fields
      .filter(({ localName }) => localName !== "jobspec")
      .map((field) => [fileKey(field), FORMS[field.localName] ?? fieldReader(field)] as const),
    ["depends_on", (value) => ({ dependsOn: readDependencies(value) })],
  ],
);

/** Reads a field by its type alone. */
function fieldReader(field: DescField): (value: Value) => Spec {
  const read = valueReader(field);
  return (value): Spec => ({ [field.localName]: read(value) });
}

const KEYS = [...FIELDS.keys(), "idempotencyKey", "hold"];

/**
 * Reads a file of jobs: one job, a list of jobs, or several documents of either, also as `--output json` shows
 * them. `complete` adds defaults of the submitter to jobs that somebody wrote; a shown job has all its fields. Errors name the file, the
 * line and the column.
 */
export function parseJobFile(
  content: string,
  file: string,
  complete = (job: JobSubmissionInit): JobSubmissionInit => job,
): readonly JobSubmissionInit[] {
  const jobs = readYaml(content, file)
    .flatMap((document) => (document.kind === "list" ? document.list() : jobsIn(document)))
    .map((value) => readShownJob(value) ?? complete(readJob(value)));
  if (jobs.length === 0) throw invalid(file, "has no job in it");
  if (jobs.length > limits.submitJobsMax) {
    throw invalid(file, `has ${jobs.length} jobs; one call takes ${limits.submitJobsMax} at most`);
  }
  return jobs;
}

/** The jobs of a list that `busbar jobs -o json` printed. */
function jobsIn(document: Value): readonly Value[] {
  const jobs = entryOf(document, "jobs");
  return jobs?.kind === "list" ? jobs.list() : [document];
}

/** A job that `busbar job -o json` printed: its spec is that of the API. Undefined: another document. */
function readShownJob(value: Value): JobSubmissionInit | undefined {
  const spec = entryOf(value, "spec");
  if (spec?.kind !== "map") return undefined;
  const shown = fromJson(JobSpecSchema, spec.plain(), spec.at);
  // Beside a request the server shows the amounts that follow from it.
  return { spec: shown.request === undefined ? shown : { ...shown, resources: {} } };
}

const entryOf = (value: Value, key: string): Value | undefined =>
  value.kind === "map" ? value.entries().find(([name]) => name === key)?.[1] : undefined;

function readJob(value: Value): JobSubmissionInit {
  const fields = value.fields(KEYS);
  let spec: Spec = {};
  let idempotencyKey: string | undefined;
  let hold: boolean | undefined;
  for (const [key, field] of fields) {
    if (key === "idempotencyKey") idempotencyKey = field.text();
    else if (key === "hold") hold = truth(field);
    else spec = { ...spec, ...FIELDS.get(key)?.(field) };
  }
  if (fields.has("dependsOn") && fields.has("depends_on")) {
    throw value.fail("dependsOn and depends_on are the same; write one of them");
  }
  if (fields.has("resources") && fields.has("request")) {
    throw value.fail("a job has either resources or a request, not both");
  }
  if (!["command", "script", "energy", "image", "containers"].some((name) => fields.has(name))) {
    throw value.fail("a job needs a command, a script or an image");
  }
  if (fields.has("command") && fields.has("script")) {
    throw value.fail("a job has either a command or a script, not both");
  }
  return { spec, idempotencyKey, ...(hold === true && { hold }) };
}

function readCommand(value: Value): string[] {
  if (value.kind === "text") {
    const words = value.text().split(/\s+/).filter(Boolean).slice(0, 4);
    const list = words.map((word) => JSON.stringify(word)).join(", ");
    throw value.fail(`must be a list of words like [${list}]; for a line of shell use script`);
  }
  const words = value.list().map((word) => word.text());
  if (words.length === 0) throw value.fail("is empty");
  return words;
}

const readResources = (value: Value): Record<string, number> =>
  Object.fromEntries(
    value.entries().map(([name, each]) => [name, parseAmount(name, each.text(), each.at)]),
  );

/** Checked here too, because only here the position is known. */
function readRequest(value: Value): string {
  const plain = value.plain();
  readResourceChoice(plain, value.at);
  return JSON.stringify(plain);
}

function readSelect(value: Value): WireSelection {
  const fields = value.fields(["strategy", "options", "parameters"]);
  const strategy = fields.get("strategy")?.text();
  const options = fields.get("options");
  const entries = fields.get("parameters")?.entries() ?? [];
  const parameters = entries.map(([name, each]) => {
    const read = toWireValue(each.plain());
    if (read === undefined) throw each.fail("must be a number, a text, true or false");
    return [name, read] as const;
  });
  if (options !== undefined && strategy === undefined) {
    throw options.fail("are those of a strategy; name it beside them");
  }
  const chosen = strategy === undefined ? undefined : { strategy, options: optionsOf(options) };
  return toWireSelection(chosen, Object.fromEntries(parameters));
}

const optionsOf = (value: Value | undefined) =>
  value === undefined ? {} : toSelectOptions(value.plain(), value.at);

function readRetries(value: Value): Retries {
  if (value.kind === "text") return { max: whole(value, 0, limits.retriesMax) };
  const fields = value.fields(["max", "backoff", "backoffMax"]);
  const max = fields.get("max");
  const backoff = fields.get("backoff");
  const backoffMax = fields.get("backoffMax");
  if (max === undefined) throw value.fail('needs "max": how often a failed task is tried again');
  return {
    max: whole(max, 0, limits.retriesMax),
    backoffMs: backoff && milliseconds(backoff),
    backoffMaxMs: backoffMax && milliseconds(backoffMax),
  };
}

const milliseconds = (value: Value): bigint => BigInt(duration(value.at)(value.text()));

const whole = (value: Value, min: number, max: number): number =>
  wholeNumber(value.at, { min, max })(value.text());
