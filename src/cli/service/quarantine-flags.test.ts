import { expect, test } from "vitest";

import { checkQuarantine } from "./quarantine-flags.ts";

const flags = { quarantineAfter: 5, quarantineQuick: 1_000, quarantineFor: 30_000 };

test.each([
  ["the defaults", {}, undefined],
  ["never", { quarantineAfter: 0 }, undefined],
  ["one job", { quarantineAfter: 1 }, /^--quarantine-after: one job alone/],
  ["quick is not quick", { quarantineQuick: 30_001 }, /^--quarantine-quick: must not be longer/],
  ["as long as that", { quarantineQuick: 30_000 }, undefined],
  ["too long", { quarantineFor: 3_600_001 }, /^--quarantine-for: at most 1h/],
] as const)("%s", (_, over, error) => {
  const check = (): void => checkQuarantine({ ...flags, ...over });
  if (error === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(error);
});
