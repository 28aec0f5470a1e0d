/**
 * What a value must be, in the words of JSON Schema: checks use it and documents show it, so that no
 * limit is written twice.
 */
export interface Rule {
  /** What would be right, in words, for refusals: "the name of a signal, like SIGKILL". No document shows it. */
  readonly hint?: string;
  /** Of a list or map, which an empty one could stand for: a request must have it. */
  readonly required?: true;
  /** Of a text that is JSON on the wire: what it is in JSON. */
  readonly type?: "object" | "array";
  readonly const?: number;
  /** One of these, beside the rest. */
  readonly anyOf?: readonly Rule[];
  readonly multipleOf?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly examples?: readonly unknown[];
  /** Of the first of what a list holds. */
  readonly prefixItems?: readonly Rule[];
  /** Of what a list holds. */
  readonly items?: Rule;
  /** Of the keys of a map. */
  readonly propertyNames?: Rule;
  /** Of values of a map with these keys; `additionalProperties` holds for the others. */
  readonly properties?: Readonly<Record<string, Rule>>;
  /** Of the values of a map. */
  readonly additionalProperties?: Rule;
}

/** Rules of a message: of its fields by name, and of fields that go or do not go together. */
export interface MessageRules {
  readonly fields: Readonly<Record<string, Rule>>;
  /** Exactly one of these is given. */
  readonly exactlyOne?: readonly string[];
  /** Or none of those, where one of these is given. */
  readonly orNoneWith?: readonly string[];
  /** Of each of these at most one is given. */
  readonly atMostOne?: readonly (readonly string[])[];
  /** The first is given only together with the others. */
  readonly together?: Readonly<Record<string, readonly string[]>>;
  /** It has the form of one of these. */
  readonly forms?: readonly Form[];
  /** Answers may have what a request must not: groups of fields are not checked there. */
  readonly onlyInRequests?: true;
}

/** One of several forms of a message, told apart by the word in one of its fields. */
export interface Form {
  readonly field: string;
  readonly words: readonly string[];
  /** That the field may be absent in this form. */
  readonly isDefault?: true;
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
}
