import { invariant } from "../lib/invariant.ts";

/** The order of keys by their UTF-8 bytes, as SQLite and etcd sort; `<` compares UTF-16 units. */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const difference = byteRank(left.charCodeAt(at)) - byteRank(right.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Surrogates stand for code points above U+FFFF, but their units sort below U+E000. */
function byteRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Half a surrogate pair cannot be written as UTF-8, and would come back as something else. */
export function checkText(text: string): void {
  invariant(text.isWellFormed(), "a row must be well-formed Unicode");
}
