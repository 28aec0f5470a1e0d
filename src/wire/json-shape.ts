import type { Message } from "@bufbuild/protobuf";
import type { OutputStream } from "../gen/busbar/v1/agent_pb.ts";
import type { State } from "../gen/busbar/v1/busbar_pb.ts";
import type { Value } from "../gen/busbar/v1/cluster_pb.ts";
import type { INLINED, JSON_TEXTS, WRITTEN } from "./special-fields.ts";

/**
 * The JSON of a message, as a type: the result of `toJson`. Fields with presence (`optional`, messages, members of a oneof) exist when they
 * are set, others always, except those in WRITTEN.
 */
export type JsonOf<T> = T extends Value
  ? number | string | boolean
  : T extends Message
    ? Fields<T> & InlinedFields<T>
    : ScalarJson<T>;

export type StateWord = Lowercase<Exclude<keyof typeof State, "UNSPECIFIED">> | "unknown";
type StreamWord = Lowercase<Exclude<keyof typeof OutputStream, "UNSPECIFIED">> | "unknown";

type ScalarJson<T> = T extends bigint
  ? number
  : T extends Uint8Array
    ? string
    : T extends string | boolean
      ? T
      : T extends number
        ? NumberJson<T>
        : T extends readonly (infer Item)[]
          ? readonly JsonOf<Item>[]
          : T extends object
            ? { readonly [Key in keyof T]: JsonOf<T[Key]> }
            : T;

/** Enums are unions of their numbers; `number` is not part of them. */
type NumberJson<T extends number> = number extends T
  ? number
  : T extends State
    ? StateWord
    : T extends OutputStream
      ? StreamWord
      : number;

type NameOf<T> = T extends { readonly $typeName: infer Name } ? Name : never;
type TextsOf<T> =
  NameOf<T> extends keyof typeof JSON_TEXTS ? (typeof JSON_TEXTS)[NameOf<T>][number] : never;
type InlineOf<T> = NameOf<T> extends keyof typeof INLINED ? (typeof INLINED)[NameOf<T>] : never;
type IsOneof<T> = T extends { case: undefined } ? true : false;
type OneofsOf<T> = { [Key in keyof T]-?: true extends IsOneof<T[Key]> ? Key : never }[keyof T];

/** Lists, and maps with free keys, that are omitted when they are empty. */
type ManyOf<T> = NameOf<T> extends (typeof WRITTEN)[number] ? AllManyOf<T> : never;
type AllManyOf<T> = {
  [Key in keyof T]-?: T[Key] extends readonly unknown[]
    ? Key
    : T[Key] extends object
      ? string extends keyof T[Key]
        ? Key
        : never
      : never;
}[keyof T];
type Special<T> = "$typeName" | "$unknown" | InlineOf<T> | OneofsOf<T>;

type Fields<T> = {
  readonly [Key in keyof T as Exclude<Key, Special<T> | ManyOf<T>>]: Key extends TextsOf<T>
    ? unknown
    : JsonOf<Exclude<T[Key], undefined>>;
} & {
  readonly [Key in Exclude<ManyOf<T>, Special<T>>]?: JsonOf<T[Key]>;
} & Members<T[OneofsOf<T>]>;

/** At most one member of a oneof exists, under its own name. */
type Members<T> = [T] extends [never]
  ? unknown
  : {
      readonly [Case in CaseOf<T>]?: JsonOf<
        Extract<T, { readonly case: Case; readonly value: unknown }>["value"]
      >;
    };
type CaseOf<T> = T extends { readonly case: infer Case extends string; readonly value: unknown }
  ? Case
  : never;

type InlinedFields<T> = [InlineOf<T>] extends [never]
  ? unknown
  : InlineOf<T> extends keyof T
    ? Partial<JsonOf<Exclude<T[InlineOf<T>], undefined>>>
    : unknown;
