import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  type GraphQLFieldConfigMap,
  GraphQLFloat,
  type GraphQLInputFieldConfig,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  GraphQLString,
} from "graphql";
import type { MessageRules } from "../lib/rules/rules.ts";
import { fieldsOf, hasPresence, isRequired, wordsOf } from "./descriptors.ts";
import { Int64, Json, JsonMap } from "./graphql-scalars.ts";
import { isAmounts, isJsonText, VALUE, WRITTEN } from "./special-fields.ts";

export interface TypeBookOptions<Context> {
  /** Comments of the .proto files, by full name. */
  readonly docs: Readonly<Record<string, string>>;
  /** By the full name of a message. */
  readonly rules: Readonly<Record<string, MessageRules>>;
  /** Fields that GraphQL leaves out, by their full names. */
  readonly omit: readonly string[];
  /** Additional fields of a message: the objects that it is linked to. */
  linksOf(desc: DescMessage): GraphQLFieldConfigMap<unknown, Context>;
}

/**
 * GraphQL types of messages, each made once. Their values are the JSON of the messages: names, words and presence are the same, so that a
 * view is its own answer.
 */
export class TypeBook<Context> {
  readonly #options: TypeBookOptions<Context>;
  readonly #outputs = new Map<string, GraphQLObjectType>();
  readonly #inputs = new Map<string, GraphQLInputObjectType>();
  readonly #enums = new Map<string, GraphQLEnumType>();

  constructor(options: TypeBookOptions<Context>) {
    this.#options = options;
  }

  outputOf(desc: DescMessage): GraphQLOutputType {
    if (desc.typeName === VALUE) return Json;
    // A message whose presence is its meaning.
    if (desc.fields.length === 0) return GraphQLBoolean;
    const known = this.#outputs.get(desc.typeName);
    if (known !== undefined) return known;
    const type = new GraphQLObjectType({
      name: desc.name,
      description: this.describe(desc.typeName),
      fields: () => ({
        ...Object.fromEntries(
          this.#fieldsOf(desc).map((field) => [field.jsonName, this.#outputField(desc, field)]),
        ),
        ...this.#options.linksOf(desc),
      }),
    });
    this.#outputs.set(desc.typeName, type);
    return type;
  }

  /** The fields of a request, as arguments of a field. */
  argumentsOf(
    desc: DescMessage,
    omit: readonly string[] = [],
  ): Record<string, GraphQLInputFieldConfig> {
    const fields = this.#fieldsOf(desc).filter(({ jsonName }) => !omit.includes(jsonName));
    return Object.fromEntries(fields.map((field) => [field.jsonName, this.#inputField(field)]));
  }

  describe(name: string): string | undefined {
    const text = this.#options.docs[name];
    return text && text.charAt(0).toUpperCase() + text.slice(1);
  }

  #fieldsOf(desc: DescMessage): readonly DescField[] {
    return fieldsOf(desc).filter(
      ({ parent, name }) => !this.#options.omit.includes(`${parent.typeName}.${name}`),
    );
  }

  #outputField(desc: DescMessage, field: DescField): GraphQLFieldConfig<unknown, Context> {
    const { parent, name, jsonName } = field;
    const isMany = field.fieldKind === "list" || field.fieldKind === "map";
    const isLeftOut = isMany && (WRITTEN as readonly string[]).includes(desc.typeName);
    const isAlways = !hasPresence(field) && field.oneof === undefined && !isLeftOut;
    const type = this.#outputType(field);
    const isMark = field.fieldKind === "message" && field.message.fields.length === 0;
    return {
      type: isAlways ? new GraphQLNonNull(type) : type,
      description: this.describe(`${parent.typeName}.${name}`),
      ...(isMark && {
        resolve: (value) => (value as Record<string, unknown>)[jsonName] !== undefined,
      }),
    };
  }

  #outputType(field: DescField): GraphQLOutputType {
    if (isJsonText(field.parent.typeName, field.localName)) return Json;
    switch (field.fieldKind) {
      case "scalar":
        return scalarOf(field.scalar);
      case "enum":
        return this.#enumOf(field.enum);
      case "message":
        return this.outputOf(field.message);
      case "list":
        return new GraphQLList(new GraphQLNonNull(this.#outputItem(field)));
      case "map":
        return JsonMap;
    }
  }

  #outputItem(field: DescField & { fieldKind: "list" }): GraphQLOutputType {
    if (field.listKind === "message") return this.outputOf(field.message);
    return field.listKind === "enum" ? this.#enumOf(field.enum) : scalarOf(field.scalar);
  }

  #inputField(field: DescField): GraphQLInputFieldConfig {
    const { parent, name, jsonName } = field;
    const isNeeded =
      isRequired(field) ||
      this.#options.rules[parent.typeName]?.fields[jsonName]?.required === true;
    const type = this.#inputType(field);
    return {
      type: isNeeded && field.oneof === undefined ? new GraphQLNonNull(type) : type,
      description: this.describe(`${parent.typeName}.${name}`),
    };
  }

  #inputType(field: DescField): GraphQLInputType {
    if (isJsonText(field.parent.typeName, field.localName)) return Json;
    if (isAmounts(field.parent.typeName, field.localName)) return JsonMap;
    switch (field.fieldKind) {
      case "scalar":
        return scalarOf(field.scalar);
      case "enum":
        return this.#enumOf(field.enum);
      case "message":
        return this.#inputOf(field.message);
      case "list":
        return new GraphQLList(new GraphQLNonNull(this.#inputItem(field)));
      case "map":
        return JsonMap;
    }
  }

  #inputItem(field: DescField & { fieldKind: "list" }): GraphQLInputType {
    if (field.listKind === "message") return this.#inputOf(field.message);
    return field.listKind === "enum" ? this.#enumOf(field.enum) : scalarOf(field.scalar);
  }

  #inputOf(desc: DescMessage): GraphQLInputType {
    if (desc.typeName === VALUE) return Json;
    const known = this.#inputs.get(desc.typeName);
    if (known !== undefined) return known;
    const type = new GraphQLInputObjectType({
      name: `${desc.name}Input`,
      description: this.describe(desc.typeName),
      fields: () => this.argumentsOf(desc),
    });
    this.#inputs.set(desc.typeName, type);
    return type;
  }

  /** The words are those of JSON. */
  #enumOf(desc: DescEnum): GraphQLEnumType {
    const known = this.#enums.get(desc.typeName);
    if (known !== undefined) return known;
    const words = wordsOf(desc);
    const ofWord = new Map(desc.values.map((one) => [one.localName.toLowerCase(), one.name]));
    const type = new GraphQLEnumType({
      name: desc.name,
      description: this.describe(desc.typeName),
      values: Object.fromEntries(
        words.map((word) => [
          word,
          { value: word, description: this.describe(`${desc.typeName}.${ofWord.get(word)}`) },
        ]),
      ),
    });
    this.#enums.set(desc.typeName, type);
    return type;
  }
}

/** GraphQL's Int is a signed integer of 32 bits. */
const SCALARS: ReadonlyMap<ScalarType, GraphQLScalarType> = new Map<ScalarType, GraphQLScalarType>([
  [ScalarType.BOOL, GraphQLBoolean],
  [ScalarType.DOUBLE, GraphQLFloat],
  [ScalarType.FLOAT, GraphQLFloat],
  [ScalarType.INT32, GraphQLInt],
  [ScalarType.UINT32, Int64],
  [ScalarType.INT64, Int64],
  [ScalarType.UINT64, Int64],
]);

const scalarOf = (scalar: ScalarType): GraphQLScalarType => SCALARS.get(scalar) ?? GraphQLString;
