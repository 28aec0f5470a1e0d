import { docs, JobSpecSchema } from "../../client/schemas.ts";
import { ARRAY_PATTERN } from "../../core/model/job/array-range.ts";
import { RETRIES_RULES, SPEC_MESSAGE_RULES } from "../../core/model/job/spec-rules.ts";
import { BYTE_RESOURCES } from "../../core/model/resources.ts";
import { DURATION_PATTERN, SIZE_PATTERN } from "../../lib/units.ts";
import { type JsonSchema, SchemaBook } from "../../wire/schema.ts";
import { type DescField, fileKey } from "../yaml/yaml-message.ts";
import { BEGIN_PATTERN } from "./flags/begin-flag.ts";
import { DEPENDENCY_KEYS } from "./job-dependencies.ts";

/** A scalar of YAML is read as its original text: 1.10, yes and 0644 are names too. */
const SCALAR = { type: ["string", "number", "boolean"] } as const;
const DURATION = { anyOf: [{ type: "string", pattern: DURATION_PATTERN }, { const: 0 }] };
const SIZE = {
  anyOf: [
    { type: "string", pattern: SIZE_PATTERN },
    { type: "integer", minimum: 0 },
  ],
};
const NAMES = { anyOf: [SCALAR, { type: "array", items: SCALAR }] };
const DEPENDENCY = {
  anyOf: [
    SCALAR,
    {
      type: "object",
      properties: {
        ...Object.fromEntries(DEPENDENCY_KEYS.map((kind) => [kind, NAMES])),
        atLeast: { type: "integer", minimum: 1 },
      },
      additionalProperties: false,
    },
  ],
};

/** Values that people write in another form than the wire (FORMS in job-file.ts reads them). */
const FORMS: Readonly<Record<string, (schema: JsonSchema) => JsonSchema>> = {
  resources: ({ propertyNames }) => ({
    type: "object",
    propertyNames,
    properties: Object.fromEntries(BYTE_RESOURCES.map((name) => [name, SIZE])),
    additionalProperties: { type: "number", minimum: 0 },
  }),
  array: () => ({ anyOf: [{ type: "string", pattern: ARRAY_PATTERN }, { type: "integer" }] }),
  retries: () => ({
    anyOf: [
      { type: "integer", ...RETRIES_RULES.max },
      {
        type: "object",
        properties: {
          max: { type: "integer", ...RETRIES_RULES.max },
          backoff: DURATION,
          backoffMax: DURATION,
        },
        required: ["max"],
        additionalProperties: false,
      },
    ],
  }),
  dependsOn: () => ({ anyOf: [DEPENDENCY, { type: "array", items: DEPENDENCY }] }),
  beginAtMs: () => ({ type: "string", pattern: BEGIN_PATTERN }),
};

const requiring = (name: string): JsonSchema => ({ required: [name] });
const COMMANDS = ["command", "script"].map(requiring);
/** A job with one of these needs no command. */
const WITHOUT_COMMAND = ["energy", "image", "containers"].map(requiring);

/** The JSON Schema of files of jobs, from the .proto files, their comments and the core's rules. */
export function jobFileSchema(): JsonSchema {
  const book = new SchemaBook({
    docs,
    rules: Object.fromEntries(
      Object.entries(SPEC_MESSAGE_RULES).map(([name, rules]) => [`busbar.v1.${name}`, rules]),
    ),
    refOf: (name) => `#/$defs/${name}`,
    isAnswer: () => false,
  });
  const fields = JobSpecSchema.fields.filter(({ localName }) => localName !== "jobspec");
  const properties = Object.fromEntries(
    fields.map((field) => [fileKey(field), inFile(field, book.propertyOf(field))]),
  );
  const job = {
    type: "object",
    properties: {
      ...properties,
      depends_on: properties["dependsOn"],
      idempotencyKey: { ...SCALAR, description: "The same key submits the job once" },
      hold: { type: "boolean", description: "Submit it on hold: busbar release starts it" },
    },
    additionalProperties: false,
    oneOf: [...COMMANDS, { anyOf: WITHOUT_COMMAND, not: { anyOf: COMMANDS } }],
    not: { required: ["resources", "request"] },
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A file of jobs for `busbar submit --file`",
    anyOf: [
      { $ref: "#/$defs/Job" },
      { type: "array", items: { $ref: "#/$defs/Job" }, minItems: 1 },
    ],
    $defs: { Job: job, ...partsInFile(fields, book.definitions) },
  };
}

/** The messages inside a job, with the keys and units of files: `backoff: 2s` for backoffMs. */
function partsInFile(
  fields: readonly DescField[],
  definitions: Readonly<Record<string, JsonSchema>>,
): Record<string, JsonSchema> {
  const parts = fields.flatMap(({ localName, message }) =>
    message === undefined || FORMS[localName] !== undefined ? [] : [message],
  );
  return Object.fromEntries(
    parts.map((part) => {
      const definition = definitions[part.name] ?? {};
      const schemas = definition["properties"] as Readonly<Record<string, JsonSchema>>;
      const properties = part.fields.map((field) => {
        const schema = schemas[field.jsonName] ?? {};
        return [fileKey(field), described(schema, plainForm(field, schema))] as const;
      });
      return [part.name, { ...definition, properties: Object.fromEntries(properties) }];
    }),
  );
}

function inFile(field: DescField, schema: JsonSchema): JsonSchema {
  const form = FORMS[field.localName]?.(schema) ?? plainForm(field, schema);
  return described(schema, form);
}

const described = ({ description }: JsonSchema, form: JsonSchema): JsonSchema => ({
  ...form,
  ...(description === undefined ? {} : { description }),
});

function plainForm(field: DescField, schema: JsonSchema): JsonSchema {
  if (field.jsonName.endsWith("Ms")) return DURATION;
  if (field.jsonName.endsWith("Bytes")) return SIZE;
  if (field.fieldKind === "map") return { ...schema, additionalProperties: SCALAR };
  if (field.fieldKind === "list" && field.listKind === "message") return schema;
  if (field.fieldKind === "list") return { ...schema, prefixItems: undefined, items: SCALAR };
  return schema;
}
