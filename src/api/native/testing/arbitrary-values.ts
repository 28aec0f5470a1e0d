import * as fc from "fast-check";
import { jobStateNames } from "../state-names.ts";

/** An arbitrary for every field, optional ones too: a new field does not compile until it has one. */
type Model<View> = {
  readonly [Field in keyof Required<View>]: fc.Arbitrary<NonNullable<View[Field]>>;
};
type OptionalOf<View> = {
  [Field in keyof View]-?: undefined extends View[Field] ? Field : never;
}[keyof View];

export const record = <View>(
  model: Model<View>,
  optional: readonly (OptionalOf<View> & string)[],
) => {
  const fields = Object.keys(model) as (keyof Model<View>)[];
  const requiredKeys = fields.filter((field) => !optional.includes(field as never));
  return fc.record(model, { requiredKeys }) as unknown as fc.Arbitrary<View>;
};

export const text = fc.string({ unit: "grapheme", maxLength: 12 });
export const name = fc.stringMatching(/^[a-z]{1,8}$/);
export const texts = fc.dictionary(name, text, { maxKeys: 3 });
export const amounts = fc.dictionary(name, fc.double({ noNaN: true, noDefaultInfinity: true }), {
  maxKeys: 3,
});
export const wide = fc.nat({ max: Number.MAX_SAFE_INTEGER });
export const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
export const count = fc.nat({ max: 2 ** 31 - 1 });
export const counts = <Word extends string>(words: readonly Word[]) =>
  fc.record(Object.fromEntries(words.map((word) => [word, wide]))) as fc.Arbitrary<
    Record<Word, number>
  >;
export const jobState = fc.constantFrom(...jobStateNames);
