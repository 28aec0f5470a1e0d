import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { isInlined } from "./special-fields.ts";

export type { DescField } from "@bufbuild/protobuf";

export const isText = (field: DescField): boolean =>
  field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;

/** Whether a message distinguishes an absent field from one that is 0 or empty. */
export const hasPresence = (field: DescField): boolean =>
  field.fieldKind !== "list" &&
  field.fieldKind !== "map" &&
  field.presence !== FeatureSet_FieldPresence.IMPLICIT;

/** The words of an enum, in lower case and without UNSPECIFIED. */
export const wordsOf = ({ values }: DescEnum): readonly string[] =>
  values.filter(({ number }) => number !== 0).map(({ localName }) => localName.toLowerCase());

/** The fields of a message as in JSON: fields of an inlined message are next to the others. */
export const fieldsOf = (desc: DescMessage): readonly DescField[] =>
  desc.fields.flatMap((field) =>
    field.fieldKind === "message" && isInlined(desc.typeName, field.localName)
      ? fieldsOf(field.message)
      : [field],
  );

/** A request must have it: a text, a word or a number without presence. */
export const isRequired = (field: DescField): boolean =>
  !hasPresence(field) &&
  (field.fieldKind === "enum" ||
    (field.fieldKind === "scalar" &&
      field.scalar !== ScalarType.BOOL &&
      field.scalar !== ScalarType.BYTES));
