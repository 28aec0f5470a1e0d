/**
 * What a value must be, in the words of JSON Schema: checks use it and documents show it, so that no
 * limit is written twice.
 */
export interface Rule {
  /** Of a list or map, which an empty one could stand for: a request must have it. */
  readonly required?: true;
  /** Of a text that is JSON on the wire: what it is in JSON. */
  readonly type?: "object" | "array";
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
  /** Of the values of a map. */
  readonly additionalProperties?: Rule;
}

/** Rules of a message: of its fields by name, and of fields that go or do not go together. */
export interface MessageRules {
  readonly fields: Readonly<Record<string, Rule>>;
  /** Exactly one of these is given. */
  readonly exactlyOne?: readonly string[];
  /** At most one of these is given. */
  readonly atMostOne?: readonly string[];
}
