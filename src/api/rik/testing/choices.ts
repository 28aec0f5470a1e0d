/** Random choices, the same for the same seed. */
export function choicesOf(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761;
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

/** Run more with ANY_ORDER_SEEDS, or one again with ANY_ORDER_FIRST=SEED ANY_ORDER_SEEDS=1. */
export function anyOrderSeeds(): number[] {
  const total = Number(process.env["ANY_ORDER_SEEDS"] ?? 20);
  const first = Number(process.env["ANY_ORDER_FIRST"] ?? 1);
  return Array.from({ length: total }, (_, at) => first + at);
}
