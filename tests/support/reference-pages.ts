import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { FIELD_RULES } from "../../src/api/native/field-rules.ts";
import { fileKey } from "../../src/cli/yaml/yaml-message.ts";
import { Busbar, JobSpecSchema } from "../../src/gen/busbar/v1/busbar_pb.ts";
import { docs } from "../../src/gen/busbar/v1/docs.ts";
import { formatBytes, formatDuration } from "../../src/lib/units.ts";
import { fieldsOf } from "../../src/wire/descriptors.ts";
import { type JsonSchema, SchemaBook } from "../../src/wire/schema.ts";

// The pages of docs/reference that are generated from the schema.

const GENERATED =
  "<!-- Made from proto/busbar/v1 and the core's rules: UPDATE_REFERENCE=1 npx vitest run tests/tidy/reference.test.ts -->";

const book = new SchemaBook({
  docs,
  rules: FIELD_RULES,
  refOf: (name) => name,
  isAnswer: () => false,
});

/** Every call of the API, and every message with its fields. */
export function apiPage(): string {
  const messages = new Map<string, DescMessage>();
  for (const { input, output } of Busbar.methods) {
    reach(input, messages);
    reach(output, messages);
  }
  const calls = Busbar.methods.map(
    ({ name, input, output }) =>
      `| ${name} | [${input.name}](#${input.name.toLowerCase()}) | [${output.name}](#${output.name.toLowerCase()}) | ${cell(docs[`busbar.v1.Busbar.${name}`])} |`,
  );
  return [
    "# API",
    GENERATED,
    "The calls and messages of the native API: gRPC as `proto/busbar/v1` has them, REST, server-sent events and `--output json` as JSON with these names.",
    ["| call | takes | answers | |", "|---|---|---|---|", ...calls].join("\n"),
    ...[...messages.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(section),
    "",
  ].join("\n\n");
}

/** What people write in another form than the wire has (FORMS in src/cli/submit/job-file.ts). */
const FILE_TYPES: Readonly<Record<string, string>> = {
  resources: "amounts by name: `{ cpu: 0.5, memory: 4GiB, gpu: 1 }`",
  retries: "a number, or `{ max: 3, backoff: 10s, backoffMax: 1h }`",
  dependsOn:
    "a name, or a list of names and of [conditions](../jobs.md#run-after-another-job): `[build, { afterany: test }]`",
  beginAt: "a time: `16:30`, `2026-11-17T16:30`, or `10m` from now",
};

/** The keys of a file of jobs, and of its parts. */
export function jobFilePage(): string {
  const fields = JobSpecSchema.fields.filter(({ localName }) => localName !== "jobspec");
  const parts = fields.flatMap((field) =>
    field.message === undefined || FILE_TYPES[fileKey(field)] !== undefined ? [] : [field.message],
  );
  return [
    "# Files of jobs",
    GENERATED,
    "A file for `busbar submit --file` holds one job, a list of jobs, or several documents of either, as YAML or JSON ([examples](../jobs.md#submit-a-file-of-jobs)). A duration is written with its unit (`timeLimit: 5m`), and so is a size (`outputLimit: 1MiB`). Beside these keys a job may have an `idempotencyKey`, and `hold: true`, which submits it on hold. `busbar schema` prints the JSON Schema for editors.",
    table(fields.map(fileRow)),
    ...parts.flatMap((part) => [
      `## ${part.name}`,
      docs[part.typeName] ?? "",
      table(part.fields.map(fileRow)),
    ]),
    "",
  ].join("\n\n");
}

function fileRow(field: DescField): string {
  const key = fileKey(field);
  const { description, ...schema } = book.propertyOf(field);
  const meaning = cell(textOf(description)).replaceAll(/\b[a-z]+_[a-z_]+\b/g, inFile(field));
  const own = field.parent === JobSpecSchema ? FILE_TYPES[key] : undefined;
  if (own !== undefined) return `| ${key} | ${own} | ${meaning} |`;
  const [unit, format] = unitOf(field);
  if (unit === undefined) return `| ${key} | ${typeOf(schema)} | ${meaning}${limitsOf(schema)} |`;
  const { minimum, maximum } = schema as { minimum?: number; maximum?: number };
  const bounds = [minimum, maximum].map((bound) => (bound === undefined ? "" : format(bound)));
  return `| ${key} | ${unit} | ${meaning} (${bounds.join(" to ")}) |`;
}

/** Comments of the schema name fields as the .proto files do. */
const inFile =
  ({ parent }: DescField) =>
  (name: string): string => {
    const named = [...parent.fields, ...JobSpecSchema.fields].find((one) => one.name === name);
    return named === undefined ? name : fileKey(named);
  };

function unitOf({
  jsonName,
}: DescField): readonly [unit: string | undefined, format: (value: number) => string] {
  if (jsonName.endsWith("Ms")) return ["duration", formatDuration];
  if (jsonName.endsWith("Bytes")) return ["size", formatBytes];
  return [undefined, String];
}

function reach(desc: DescMessage, found: Map<string, DescMessage>): void {
  if (found.has(desc.typeName)) return;
  found.set(desc.typeName, desc);
  for (const { message } of desc.fields) if (message !== undefined) reach(message, found);
}

function section(desc: DescMessage): string {
  const about = docs[desc.typeName];
  const fields = fieldsOf(desc).map((field) => row(field.jsonName, field));
  const parts = [`## ${desc.name}`, ...(about === undefined ? [] : [about])];
  return [...parts, fields.length === 0 ? "It has no fields." : table(fields)].join("\n\n");
}

const table = (rows: readonly string[]): string =>
  ["| field | type | meaning |", "|---|---|---|", ...rows].join("\n");

function row(name: string, field: DescField): string {
  const { description, ...schema } = book.propertyOf(field);
  return `| ${name} | ${typeOf(schema)} | ${cell(textOf(description))}${limitsOf(schema)} |`;
}

function typeOf({ type, $ref, items, additionalProperties }: JsonSchema): string {
  if ($ref !== undefined) return `[${textOf($ref)}](#${textOf($ref).toLowerCase()})`;
  if (type === "array" && items !== undefined) return `list of ${typeOf(items as JsonSchema)}`;
  if (type === "object" && additionalProperties !== undefined) {
    return `map of ${typeOf(additionalProperties as JsonSchema)}`;
  }
  return type === undefined ? "any" : [type].flat().map(textOf).join(" or ");
}

const LIMITS = ["enum", "minimum", "maximum", "exclusiveMinimum", "maxLength", "maxItems"];

/** The constraints of a rule beyond the type; numbers that only show the width of the type are left out. */
function limitsOf(schema: JsonSchema): string {
  const wide = [2 ** 31 - 1, -(2 ** 31), 2 ** 32 - 1, Number.MAX_SAFE_INTEGER];
  const said = LIMITS.flatMap((word) => {
    const value = schema[word];
    const isWide = typeof value === "number" && (wide.includes(value) || wide.includes(-value));
    if (value === undefined || isWide) return [];
    return [`${word} ${[value].flat().map(textOf).join(", ")}`];
  });
  return said.length === 0 ? "" : ` (${said.join("; ")})`;
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? "").replaceAll('"', "");

const cell = (text = ""): string => text.replaceAll("|", "\\|");
