import { invalid } from "../../lib/errors.ts";

const SHOWN_CHARS_MAX = 40;

/** The one of the names that was given; throws when it is none of them. */
export function oneOf<Name extends string>(
  given: string,
  field: string,
  names: readonly Name[],
): Name {
  const known = names.find((name) => name === given);
  if (known !== undefined) return known;
  const shown = JSON.stringify(given.slice(0, SHOWN_CHARS_MAX));
  throw invalid(field, `${shown} is none of ${names.join(", ")}`);
}
