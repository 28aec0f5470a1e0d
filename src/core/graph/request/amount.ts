/**
 * Amounts with units. Sizes in bytes are read as GNU tools read them: "GiB" and "G" are powers of
 * 1,024, "GB" is powers of 1,000. Any other unit equals only itself.
 */
const PREFIXES = ["k", "m", "g", "t", "p", "e"];

/** Bytes per unit, by its name in lower case. */
const BYTES: ReadonlyMap<string, number> = new Map([
  ["b", 1],
  ["byte", 1],
  ["bytes", 1],
  ...PREFIXES.flatMap((prefix, at): [string, number][] => [
    [prefix, 1_024 ** (at + 1)],
    [`${prefix}ib`, 1_024 ** (at + 1)],
    [`${prefix}b`, 1_000 ** (at + 1)],
  ]),
]);

/**
 * How many of `to` one of `from` is. When one side has no unit, the factor is 1; undefined: the
 * units cannot be compared ("GB" and "watts").
 */
export function conversion(from: string, to: string): number | undefined {
  if (from === to || from === "" || to === "") return 1;
  const [source, target] = [BYTES.get(from.toLowerCase()), BYTES.get(to.toLowerCase())];
  return source === undefined || target === undefined ? undefined : source / target;
}

/**
 * Sums of converted amounts are not exact: a difference in the tenth digit counts as none. Whole
 * numbers below a billion compare exactly.
 */
export const EPSILON = 1e-10;

export const isAtLeast = (amount: number, wanted: number): boolean =>
  amount >= wanted - EPSILON * Math.abs(wanted);

/** How many whole times `part` fits into `amount`. */
export const timesIn = (amount: number, part: number): number =>
  part <= 0 ? Infinity : Math.floor((amount / part) * (1 + EPSILON));
