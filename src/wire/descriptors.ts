import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { isInlined } from "./special-fields.ts";

export type { DescField } from "@bufbuild/protobuf";

export const isText = (field: DescField): boolean =>
  field.fieldKind === "scalar" && field.scalar === ScalarType.STRING;

/** Whether a message can tell an absent field from one that is 0 or empty. */
export const hasPresence = (field: DescField): boolean =>
  field.fieldKind !== "list" &&
  field.fieldKind !== "map" &&
  field.presence !== FeatureSet_FieldPresence.IMPLICIT;

/** The words of an enum, in lower case and without the one that says nothing. */
export const wordsOf = ({ values }: DescEnum): readonly string[] =>
  values.filter(({ number }) => number !== 0).map(({ localName }) => localName.toLowerCase());

/** The fields of a message as JSON has them: those of an inlined message stand beside its others. */
export const fieldsOf = (desc: DescMessage): readonly DescField[] =>
  desc.fields.flatMap((field) =>
    field.fieldKind === "message" && isInlined(desc.typeName, field.localName)
      ? fieldsOf(field.message)
      : [field],
  );

/** A request without it makes no sense: a text, a word or a number that has no presence. */
export const isRequired = (field: DescField): boolean =>
  !hasPresence(field) &&
  (field.fieldKind === "enum" ||
    (field.fieldKind === "scalar" &&
      field.scalar !== ScalarType.BOOL &&
      field.scalar !== ScalarType.BYTES));
