/**
 * One total order for versions of every kind. Each text is taken apart on its own, never with an eye
 * on what it is compared to, so the order has no circles.
 *
 *   epoch : release [pre-release] [- revision]
 *
 * - epoch: Debian's "1:"; 0 where there is none. Compared first.
 * - release: numbers and words in a row ("1.0.2k" is 1, 0, 2, k). What is missing counts as 0, so
 *   1.2 equals 1.2.0. 0 < words < other numbers < spack's names for newer than all numbers, which are
 *   stable < trunk < head < master < main < develop.
 * - pre-release: before the release it belongs to, by the rules of semantic versions. It begins with
 *   "~", with "-" before a letter, or with dev, alpha, beta, pre, preview or rc.
 * - revision: what follows the last "-" before a digit ("2.3-1"). After the release without it.
 *
 * A text that is a semantic version by the letter (three numbers, "-" pre-release, "+" build) is read
 * as one: "1.0.0-1" is a pre-release, and the build does not count.
 */
export interface Version {
  readonly epoch: string;
  readonly release: readonly string[];
  readonly before: readonly string[] | undefined;
  readonly revision: readonly string[];
}

const SEMANTIC = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;
const BEFORE = /~|-(?=[A-Za-z])|(?<=\d[._-]?)(?:dev|alpha|beta|preview|pre|rc)(?![A-Za-z])/i;
/** Longer texts are not versions, and would take long to parse. */
const LENGTH_MAX = 256;
const NEWEST = ["stable", "trunk", "head", "master", "main", "develop"];

/** undefined: the text has nothing that can be compared. */
export function parseVersion(text: string): Version | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  const [, epoch = "0", rest = ""] = /^(?:(\d+):)?[v=]*(.*)$/s.exec(text.trim()) ?? [];
  const semantic = SEMANTIC.exec(rest);
  if (semantic !== null) {
    const [, major = "", minor = "", patch = "", before] = semantic;
    const release = [major, minor, patch].map(withoutZeros);
    return { epoch: withoutZeros(epoch), release, before: before?.split("."), revision: [] };
  }
  const revised = /^(.*)-(\d[^-]*)$/s.exec(rest);
  const [upstream, revision] = revised === null ? [rest, ""] : [revised[1] ?? "", revised[2] ?? ""];
  const mark = BEFORE.exec(upstream);
  const release = tokens(mark === null ? upstream : upstream.slice(0, mark.index));
  if (release.length === 0) return undefined;
  const before = mark === null ? undefined : upstream.slice(mark.index).replace(/^[~-]/, "");
  return {
    epoch: withoutZeros(epoch),
    release,
    before: before?.split("."),
    revision: tokens(revision),
  };
}

const tokens = (text: string): string[] =>
  (text.toLowerCase().match(/\d+|[a-z]+/g) ?? []).map(withoutZeros);

/** "007" is 7 and "0" is 0; as text, because a number may have more digits than a double. */
const withoutZeros = (token: string): string => token.replace(/^0+(?=\d)/, "");

export function compareVersions(one: Version, other: Version): number {
  return (
    compareTokens(one.epoch, other.epoch) ||
    compareRows(one.release, other.release) ||
    compareBefore(one.before, other.before) ||
    compareRows(one.revision, other.revision)
  );
}

function compareRows(one: readonly string[], other: readonly string[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const order = compareTokens(one[at] ?? "0", other[at] ?? "0");
    if (order !== 0) return order;
  }
  return 0;
}

function compareTokens(one: string, other: string): number {
  const [rank, otherRank] = [rankOf(one), rankOf(other)];
  if (rank !== otherRank) return rank - otherRank;
  if (rank === 3) return NEWEST.indexOf(one) - NEWEST.indexOf(other);
  return rank === 2 ? compareDigits(one, other) : compareTexts(one, other);
}

const rankOf = (token: string): number =>
  token === "0" ? 0 : isNumber(token) ? 2 : NEWEST.includes(token) ? 3 : 1;

/**
 * As in semantic versions: no pre-release is after any; numbers are before texts; the longer list
 * is later.
 */
function compareBefore(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): number {
  if (one === undefined || other === undefined) {
    return (one === undefined ? 1 : 0) - (other === undefined ? 1 : 0);
  }
  for (let at = 0; at < Math.min(one.length, other.length); at++) {
    const [a, b] = [one[at] ?? "", other[at] ?? ""];
    const order =
      isNumber(a) && isNumber(b)
        ? compareDigits(withoutZeros(a), withoutZeros(b))
        : isNumber(a) || isNumber(b)
          ? Number(isNumber(b)) - Number(isNumber(a))
          : compareTexts(a, b);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

const isNumber = (token: string): boolean => /^\d+$/.test(token);
const compareDigits = (a: string, b: string): number => a.length - b.length || compareTexts(a, b);
const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Whether a version is between two others, inclusive. A shorter upper bound includes all versions
 * that begin with it: 0.7.5 is not above 0.7, as in spack and in constraints of semantic versions.
 */
export function isBetween(
  version: Version,
  min: Version | undefined,
  max: Version | undefined,
): boolean {
  if (min !== undefined && compareVersions(version, min) < 0) return false;
  if (max === undefined || compareVersions(version, max) <= 0) return true;
  return (
    max.before === undefined &&
    max.revision.length === 0 &&
    max.epoch === version.epoch &&
    max.release.every((token, at) => token === version.release[at])
  );
}
