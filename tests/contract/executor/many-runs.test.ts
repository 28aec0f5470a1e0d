import { afterEach, beforeEach, expect, test } from "vitest";

import type { Executor } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { runMany, takeCensus } from "./many-runs.ts";
import type { ProcessBed } from "./process-bed.ts";
import { describeLaunchers, makeProcessBed } from "./process-bed.ts";

const COUNT = { native: 3_000, perl: 3_000, spawn: 200 };

describeLaunchers("many runs", (launcher) => {
  let bed: ProcessBed;
  let executor: Executor;
  beforeEach(async () => {
    bed = makeProcessBed(launcher);
    executor = await bed.open();
  });
  afterEach(async () => {
    await executor.close();
    await bed.dispose();
  });

  test("leave no descriptor, no child and no zombie", { timeout: 120_000 }, async () => {
    await runMany(executor, 100, 1);
    const before = takeCensus(bed.directory);
    expect(await runMany(executor, COUNT[launcher], 1_000)).toBe(COUNT[launcher]);
    await eventually(
      () => {
        const { descriptors, helperDescriptors, children, zombies } = takeCensus(bed.directory);
        return (
          descriptors <= before.descriptors &&
          helperDescriptors <= before.helperDescriptors + 2 && // another lane or two
          children <= before.children + 2 &&
          zombies === 0
        );
      },
      {
        what: () => `${JSON.stringify(takeCensus(bed.directory))} to be ${JSON.stringify(before)}`,
      },
    );
    expect(executor.known()).toEqual([]);
  });
});
