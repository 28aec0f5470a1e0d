import { expect, test } from "vitest";
import { eventually } from "../../../src/testing/eventually.ts";
import { runMany, takeCensus } from "./many-runs.ts";
import { describeLaunchers, useProcessExecutor } from "./process-bed.ts";

const COUNT = { native: 3_000, perl: 3_000, spawn: 200 };

describeLaunchers("many runs", (launcher) => {
  const own = useProcessExecutor(launcher);

  test("leave no descriptor, no child and no zombie", { timeout: 120_000 }, async () => {
    await runMany(own.executor, 100, 1);
    const before = takeCensus(own.bed.directory);
    expect(await runMany(own.executor, COUNT[launcher], 1_000)).toBe(COUNT[launcher]);
    await eventually(
      () => {
        const { descriptors, helperDescriptors, children, zombies } = takeCensus(own.bed.directory);
        return (
          descriptors <= before.descriptors &&
          helperDescriptors <= before.helperDescriptors + 2 && // another lane or two
          children <= before.children + 2 &&
          zombies === 0
        );
      },
      {
        what: () =>
          `${JSON.stringify(takeCensus(own.bed.directory))} to be ${JSON.stringify(before)}`,
      },
    );
    expect(own.executor.known()).toEqual([]);
  });
});
