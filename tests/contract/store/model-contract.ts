import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { RowWrite, Store, StoredRow } from "../../../src/ports/store.ts";
import { loadAll, withStore, type StoreContract } from "./store-data.ts";

export function describeAnyUse(contract: StoreContract): void {
  test(`${contract.name} store: any batches, and openings at any point, leave the same rows as a map`, async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        await withStore(contract, (store, reopen) => compareWithMap(store, reopen, sequence))();
      }),
      { numRuns: contract.propertyRuns },
    );
  }, 120_000);
}

type Step =
  | { readonly kind: "commit"; readonly gap: number; readonly writes: readonly RowWrite[] }
  | { readonly kind: "reopen" };

const keys = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((number) => `k${number}`),
  fc.string({ unit: "grapheme", maxLength: 3 }),
);
const writes = fc.uniqueArray(
  fc.record({ key: keys, value: fc.option(fc.string({ unit: "binary" }), { nil: undefined }) }),
  { selector: ({ key }) => key, maxLength: 40 },
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant("commit"), gap: fc.nat({ max: 3 }), writes }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("reopen") }) },
  ),
  { maxLength: 25 },
);

async function compareWithMap(
  first: Store,
  reopen: () => Promise<Store>,
  sequence: readonly Step[],
): Promise<void> {
  const model = new Map<string, StoredRow>();
  let store = first;
  let revision = 0;
  let commits: Promise<void>[] = [];
  for (const step of [...sequence, { kind: "reopen" } as const]) {
    if (step.kind === "reopen") {
      store = await reopen();
      await Promise.all(commits);
      commits = [];
      expect(store.revision()).toBe(revision);
      expect(new Map((await loadAll(store)).map((row) => [row.key, row]))).toEqual(model);
    } else {
      revision += 1 + step.gap;
      commits.push(store.commit({ revision, writes: step.writes }));
      for (const { key, value } of step.writes) {
        if (value === undefined) model.delete(key);
        else model.set(key, { key, value, revision });
      }
    }
  }
}
