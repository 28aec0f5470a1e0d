/** The rule of a value, in the words of JSON Schema. Checks use it and documents show it, so that no limit is written twice. */
export interface Rule {
  /** The right form in words, for error messages: "the name of a signal, like SIGKILL". No document shows it. */
  readonly hint?: string;
  /** For a list or map: a request must have the field, though an absent one could count as empty. */
  readonly required?: true;
  /** For a text that holds JSON: the rule of that JSON. */
  readonly type?: "object" | "array";
  readonly const?: number;
  /** The value follows one of these, as well as the other rules. */
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
  /** The rule of the first item of a list. */
  readonly prefixItems?: readonly Rule[];
  /** The rule of each item of a list. */
  readonly items?: Rule;
  /** The rule of the keys of a map. */
  readonly propertyNames?: Rule;
  /** The rules of the values under these keys of a map; `additionalProperties` holds for the others. */
  readonly properties?: Readonly<Record<string, Rule>>;
  /** The rule of the values of a map. */
  readonly additionalProperties?: Rule;
}

/** The rules of a message: of its fields by name, and of fields that go together or exclude each other. */
export interface MessageRules {
  readonly fields: Readonly<Record<string, Rule>>;
  /** Exactly one of these is set. */
  readonly exactlyOne?: readonly string[];
  /** Or none of those, where one of these is set. */
  readonly orNoneWith?: readonly string[];
  /** At most one of each group is set. */
  readonly atMostOne?: readonly (readonly string[])[];
  /** The first is set only together with the others. */
  readonly together?: Readonly<Record<string, readonly string[]>>;
  /** The message has one of these forms. */
  readonly forms?: readonly Form[];
  /** Groups of fields are not checked in answers: an answer may have fields that a request must not have. */
  readonly onlyInRequests?: true;
}

/** One of several forms of a message; the word in one field says which. */
export interface Form {
  readonly field: string;
  readonly words: readonly string[];
  /** The field may be absent in this form. */
  readonly isDefault?: true;
  readonly required: readonly string[];
  readonly forbidden: readonly string[];
}
