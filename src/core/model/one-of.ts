import { invalid } from "../../lib/errors.ts";

const SHOWN_CHARS_MAX = 40;

/** Returns the text if it is one of the names; throws otherwise. */
export function oneOf<Name extends string>(
  given: string,
  field: string,
  names: readonly Name[],
): Name {
  const known = names.find((name) => name === given);
  if (known !== undefined) return known;
  const shown = JSON.stringify(given.slice(0, SHOWN_CHARS_MAX));
  throw invalid(field, `${shown} is not one of ${names.join(", ")}`);
}
