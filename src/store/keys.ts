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

/** Surrogates encode code points above U+FFFF, but their units sort below U+E000. */
function byteRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** UTF-8 cannot encode half a surrogate pair, which would load as something else. */
export function checkText(text: string): void {
  invariant(text.isWellFormed(), "a row must be well-formed Unicode");
}
