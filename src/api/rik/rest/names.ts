import type { Random } from "../../../ports/random.ts";

const ADJECTIVES = (
  "able bold brave bright calm clear cool crisp deep eager early fair fast fine firm fond free fresh " +
  "gentle glad grand green happy keen kind large late light lively loud lucky merry mild neat noble " +
  "plain proud quick quiet rapid ready rich sharp short smart smooth soft solid steady strong sunny " +
  "sure swift tall tidy true vast warm wide wise young"
).split(" ");
const NOUNS = (
  "anchor apple arrow basin beacon birch bridge brook canyon cedar cliff cloud comet coral crane delta " +
  "dune eagle ember falcon fern field fjord forest garden glacier grove harbor hawk heron hill island " +
  "juniper lagoon lake lark leaf maple marsh meadow mesa moon oak ocean orbit otter palm peak pine " +
  "planet pond prairie raven reef ridge river robin shore spring star stone storm summit sun tide " +
  "trail valley wave willow wind"
).split(" ");

const NUMBERS = 10_000;

/** A name for an instance without one: `calm-river-4711`, in rik's style. */
export function instanceName(random: Random, isTaken: (name: string) => boolean): string {
  const pick = (words: readonly string[]): string =>
    words[Math.floor(random.fraction() * words.length)] ?? "";
  const first = Math.floor(random.fraction() * NUMBERS);
  // Tries another number each time, whatever the draw, and longer ones when all are in use.
  for (let tries = 0; ; tries++) {
    const number = tries < NUMBERS ? (first + tries) % NUMBERS : tries;
    const name = `${pick(ADJECTIVES)}-${pick(NOUNS)}-${String(number).padStart(4, "0")}`;
    if (!isTaken(name)) return name;
  }
}
