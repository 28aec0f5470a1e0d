import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Form, MessageRules, Rule } from "../lib/rules/rules.ts";
import { SIZE_PATTERN } from "../lib/units.ts";
import { fieldsOf, hasPresence, isRequired, wordsOf } from "./descriptors.ts";
import { isAmounts, isJsonText, VALUE } from "./special-fields.ts";

export type JsonSchema = { readonly [keyword: string]: unknown };

export interface SchemaOptions {
  /** Comments of the .proto files, by full name. */
  readonly docs: Readonly<Record<string, string>>;
  /** By the full name of a message. */
  readonly rules: Readonly<Record<string, MessageRules>>;
  /** The reference to a message of this name. */
  refOf(name: string): string;
  /** Whether a message is never part of a request: then every field that is always sent is required. */
  isAnswer(typeName: string): boolean;
}

/** JSON Schemas of messages, for documents that define each of them once. */
export class SchemaBook {
  readonly #options: SchemaOptions;
  readonly #definitions = new Map<string, JsonSchema>();

  constructor(options: SchemaOptions) {
    this.#options = options;
  }

  /** All referenced messages, by name. */
  get definitions(): Readonly<Record<string, JsonSchema>> {
    return Object.fromEntries(this.#definitions);
  }

  refTo(desc: DescMessage): JsonSchema {
    if (desc.typeName === VALUE) return { type: ["number", "string", "boolean"] };
    if (!this.#definitions.has(desc.name)) {
      this.#definitions.set(desc.name, {}); // before its fields: a message may contain itself
      this.#definitions.set(desc.name, this.objectOf(desc));
    }
    return { $ref: this.#options.refOf(desc.name) };
  }

  /** A closed object; `omit` lists fields that a request has elsewhere, like in its path. */
  objectOf(desc: DescMessage, omit: readonly string[] = []): JsonSchema {
    const fields = fieldsOf(desc).filter(({ jsonName }) => !omit.includes(jsonName));
    const isAnswer = this.#options.isAnswer(desc.typeName);
    const required = fields
      .filter(
        (field) =>
          isRequired(field) ||
          this.#ruleOf(field).required === true ||
          (isAnswer && isAlwaysSent(field)),
      )
      .map(({ jsonName }) => jsonName);
    const description = this.#describe(desc.typeName);
    return {
      type: "object",
      ...(description === undefined ? {} : { description }),
      properties: Object.fromEntries(
        fields.map((field) => [field.jsonName, this.propertyOf(field)]),
      ),
      ...(required.length === 0 ? {} : { required }),
      additionalProperties: false,
      ...this.#together(desc, isAnswer),
    };
  }

  propertyOf(field: DescField): JsonSchema {
    const { parent, name } = field;
    const description = this.#describe(`${parent.typeName}.${name}`);
    const { required: _, ...rule } = withoutHints(this.#ruleOf(field));
    return {
      ...this.#typeOf(field, rule),
      ...(description === undefined ? {} : { description }),
    };
  }

  #ruleOf({ parent, jsonName }: DescField): Rule {
    return this.#options.rules[parent.typeName]?.fields[jsonName] ?? {};
  }

  #describe(name: string): string | undefined {
    const text = this.#options.docs[name];
    return text && text.charAt(0).toUpperCase() + text.slice(1);
  }

  /** Fields that exclude each other, of a message or of one inlined in it. */
  #together(desc: DescMessage, isAnswer: boolean): JsonSchema {
    const names = new Set(fieldsOf(desc).map(({ parent }) => parent.typeName));
    const rules = [...names]
      .flatMap((name) => this.#options.rules[name] ?? [])
      // An answer may have fields that a request must not have: resources together with the request they come from.
      .filter((rule) => rule !== this.#options.rules[desc.typeName] || !rule.onlyInRequests);
    const exactlyOne = rules.flatMap((rule) => (rule.exactlyOne ? [alternatives(rule)] : []));
    const oneofs = isAnswer ? [] : desc.oneofs.map((one) => one.fields.map((f) => f.jsonName));
    const groups = [
      ...exactlyOne,
      ...oneofs.map((list) => ({ oneOf: list.map((name) => given(name)) })),
      ...rules.flatMap(({ atMostOne = [] }) => atMostOne.map((list) => ({ not: given(...list) }))),
      ...rules.flatMap(({ together }) => (together ? [{ dependentRequired: together }] : [])),
      ...rules.flatMap(({ forms }) => (forms ? [{ anyOf: forms.map(formOf) }] : [])),
    ];
    if (groups.length === 0) return {};
    return groups.length === 1 ? (groups[0] ?? {}) : { allOf: groups };
  }

  #typeOf(field: DescField, rule: Rule): JsonSchema {
    if (isJsonText(field.parent.typeName, field.localName)) return { ...rule };
    if (isAmounts(field.parent.typeName, field.localName)) return amounts(rule);
    const { items, prefixItems, additionalProperties, ...own } = rule;
    switch (field.fieldKind) {
      case "scalar":
        return { ...scalarType(field.scalar), ...own };
      case "enum":
        return { type: "string", enum: wordsOf(field.enum), ...own };
      case "message":
        return { ...this.refTo(field.message) };
      case "list":
        return {
          type: "array",
          ...(prefixItems && {
            prefixItems: prefixItems.map((first) => ({ ...this.#itemOf(field), ...first })),
          }),
          items: { ...this.#itemOf(field), ...items },
          ...own,
        };
      case "map":
        return {
          type: "object",
          additionalProperties: { ...this.#itemOf(field), ...additionalProperties },
          ...own,
        };
    }
  }

  #itemOf(field: DescField & { fieldKind: "list" | "map" }): JsonSchema {
    if (field.message !== undefined) return this.refTo(field.message);
    if (field.enum !== undefined) return { type: "string", enum: wordsOf(field.enum) };
    return scalarType(field.scalar ?? ScalarType.STRING);
  }
}

/** Removes the words for error messages, at any depth: JSON Schema does not have them. */
const withoutHints = (rule: Rule): Rule =>
  JSON.parse(
    JSON.stringify(rule, (key, value: unknown) => (key === "hint" ? undefined : value)),
  ) as Rule;

const formOf = ({ field, words, isDefault, required, forbidden }: Form): JsonSchema => ({
  properties: { [field]: { enum: words } },
  required: isDefault ? required : [field, ...required],
  not: anyOf(forbidden.map((name) => given(name))),
});

const anyOf = (schemas: readonly JsonSchema[]): JsonSchema =>
  schemas.length === 1 ? (schemas[0] ?? {}) : { anyOf: schemas };

const given = (...names: readonly string[]): JsonSchema => ({ required: names });

/** Exactly one of them is set, or none where that is allowed. */
function alternatives({ exactlyOne = [], orNoneWith = [] }: MessageRules): JsonSchema {
  const one = exactlyOne.map((name) => given(name));
  if (orNoneWith.length === 0) return { oneOf: one };
  const none = { ...anyOf(orNoneWith.map((name) => given(name))), not: { anyOf: one } };
  return { oneOf: [...one, none] };
}

const isAlwaysSent = (field: DescField): boolean => !hasPresence(field) && !field.oneof;

const amounts = ({ properties = {}, additionalProperties, ...own }: Rule): JsonSchema => ({
  type: "object",
  properties: {
    ...Object.fromEntries(
      Object.entries(properties).map(([name, rule]) => [name, { type: "number", ...rule }]),
    ),
    memory: {
      type: ["number", "string"],
      description: "Bytes, or a text like 4GiB",
      pattern: SIZE_PATTERN,
      ...additionalProperties,
    },
  },
  additionalProperties: { type: "number", ...additionalProperties },
  ...own,
});

const SAFE = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
const TYPES: ReadonlyMap<ScalarType, JsonSchema> = new Map<ScalarType, JsonSchema>([
  [ScalarType.BOOL, { type: "boolean" }],
  [ScalarType.DOUBLE, { type: "number" }],
  [ScalarType.INT32, { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }],
  [ScalarType.UINT32, { type: "integer", minimum: 0, maximum: 2 ** 32 - 1 }],
  [ScalarType.INT64, { type: "integer", ...SAFE }],
]);

const scalarType = (scalar: ScalarType): JsonSchema => TYPES.get(scalar) ?? { type: "string" };
