/**
 * How many runs of a property, or seeds of a simulation: all with `npm test`, a quarter with `npm run
 * test:unit`, which people run while they change code.
 */
export const runs = (count: number): number =>
  process.env["TEST_TIER"] === "unit" ? Math.ceil(count / 4) : count;
