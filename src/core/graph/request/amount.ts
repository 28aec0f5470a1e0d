/**
 * Amounts with units. Bytes are read as GNU tools do: "GiB" and "G" are powers of 1,024, "GB" is
 * powers of 1,000. Any other unit is a word that is only equal to itself.
 */
const PREFIXES = ["k", "m", "g", "t", "p", "e"];

/** How many bytes one of `unit` is; undefined: not a unit of bytes. */
function bytesPer(unit: string): number | undefined {
  const match = /^(?:([kmgtpe])(ib|b)?|b|bytes?)$/.exec(unit.toLowerCase());
  if (match === null) return undefined;
  const [, prefix = "", suffix] = match;
  return (suffix === "b" ? 1_000 : 1_024) ** (PREFIXES.indexOf(prefix) + 1);
}

const known = new Map<string, number | undefined>();
const KNOWN_MAX = 1_000;

function factorOf(unit: string): number | undefined {
  if (known.has(unit)) return known.get(unit);
  const factor = bytesPer(unit);
  if (known.size < KNOWN_MAX) known.set(unit, factor);
  return factor;
}

/**
 * How many of `to` one of `from` is. Where one side has no unit the numbers are taken as they stand;
 * undefined: the two cannot be compared ("GB" and "watts").
 */
export function conversion(from: string, to: string): number | undefined {
  if (from === to || from === "" || to === "") return 1;
  const [source, target] = [factorOf(from), factorOf(to)];
  return source === undefined || target === undefined ? undefined : source / target;
}

/**
 * Sums of converted amounts are not exact: a difference in the tenth digit is none. Whole numbers
 * below a billion are compared exactly.
 */
export const EPSILON = 1e-10;

export const isAtLeast = (amount: number, wanted: number): boolean =>
  amount >= wanted - EPSILON * Math.abs(wanted);

/** How many whole times `part` goes into `amount`. */
export const timesIn = (amount: number, part: number): number =>
  part <= 0 ? Infinity : Math.floor((amount / part) * (1 + EPSILON));
