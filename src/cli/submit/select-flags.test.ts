import { expect, test } from "vitest";
import { strategyNames } from "../../core/select/all.ts";
import { STRATEGIES } from "./select-flags.ts";

test("the help names every strategy", () => {
  const named = STRATEGIES.replace(/^Strategies: |\.$/g, "").split(", ");
  expect(named.sort()).toEqual([...strategyNames].sort());
});
