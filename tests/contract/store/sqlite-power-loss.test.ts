import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SeededNumbers } from "../../../src/lib/seeded-numbers.ts";
import type { Batch, StoredRow } from "../../../src/ports/store.ts";
import type { Database } from "../../../src/store/sqlite/database.ts";
import { unpackRows } from "../../../src/store/sqlite/messages.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { lastIssued, readRecord } from "../../../src/store/sqlite/record/record-file.ts";
import { commit, tooLong, withDirectory } from "./sqlite-support.ts";
import { put } from "./store-data.ts";
import { type Image, TrackedFiles } from "./tracked-files.ts";

/** Something that the store's thread does. */
type Step = "small" | "large" | "apply" | "rest" | "checkpoint" | "kill";

/** The rows after each revision, and how far the store has come. */
class Expected {
  readonly states = new Map<number, readonly StoredRow[]>([[0, []]]);
  acknowledged = 0;
  attempted = 0;

  next(isLarge: boolean): Batch {
    const revision = this.attempted + 1;
    const last = `${revision}`;
    const writes = [put("last", last), put(`own/${revision % 5}`, isLarge ? tooLong(last) : last)];
    const rows = new Map(this.states.get(this.attempted)?.map((row) => [row.key, row]));
    for (const { key, value } of writes) rows.set(key, { key, value: value ?? "", revision });
    this.states.set(
      revision,
      [...rows.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    );
    this.attempted = revision;
    return { revision, writes, lastId: 10 * revision };
  }
}

/** The files that the machine left: their record knows of every acknowledged commit. They open, have everything acknowledged, and
 * are the state after one of the commits. */
function checkImage(data: string, image: Image, expected: Expected): void {
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data);
  for (const [name, bytes] of Object.entries(image)) {
    if (bytes !== undefined) writeFileSync(join(data, name), bytes);
  }
  const record = readRecord(data);
  if (record.kind !== "read") throw new Error(`the record is ${record.kind}`);
  expect(lastIssued(record).revision).toBeGreaterThanOrEqual(expected.acknowledged);
  const database = openDatabase(data);
  try {
    const rows = [...database.readRows()].flatMap(unpackRows);
    const last = Number(rows.find(({ key }) => key === "last")?.value ?? 0);
    expect(last).toBeGreaterThanOrEqual(expected.acknowledged);
    expect(rows).toEqual(expected.states.get(last));
    expect(database.revision()).toBeGreaterThanOrEqual(last);
    expect(database.lastId()).toBeGreaterThanOrEqual(10 * last);
  } finally {
    database.close();
  }
}

/** Takes the steps, and stops the machine at every write: `pick` chooses some of the possible images. */
function losePower(
  data: string,
  steps: readonly Step[],
  pick: (images: readonly Image[]) => readonly Image[],
): number {
  const expected = new Expected();
  let count = 0;
  const files = new TrackedFiles(`${data}-0`, (images) => {
    for (const image of pick([...images])) {
      count += 1;
      files.afterReboot(() => checkImage(`${data}-image`, image, expected));
    }
  });
  files.on();
  const open: Database[] = [];
  try {
    let database = openDatabase(`${data}-0`);
    open.push(database);
    for (const step of steps) {
      if (step === "kill") {
        files.moveTo(`${data}-${open.length}`);
        database = openDatabase(`${data}-${open.length}`);
        open.push(database);
      } else if (step === "small" || step === "large") {
        const batch = expected.next(step === "large");
        commit(database, batch);
        expected.acknowledged = batch.revision;
      } else database[step]();
      files.look();
    }
  } finally {
    files.off();
    for (const each of open) each.close();
  }
  return count;
}

test("power loss at any write, with any of the unflushed ones lost: nothing acknowledged is missing, and no state is mixed", () =>
  withDirectory((data) => {
    const steps: Step[] = ["small", "small", "apply", "small", "rest", "small", "kill", "small"];
    const more: Step[] = ["apply", "large", "small", "apply", "checkpoint", "small", "kill"];
    const end: Step[] = ["small", "apply", "small", "large"];
    const count = losePower(data, [...steps, ...more, ...end], (images) => images);
    expect(count).toBeGreaterThan(300);
    return Promise.resolve();
  }));

const SEEDS = 6;
const STEPS = 40;
const KINDS: readonly Step[] = [
  "small",
  "small",
  "small",
  "apply",
  "rest",
  "large",
  "checkpoint",
  "kill",
];

for (let seed = 1; seed <= SEEDS; seed += 1) {
  test(`power loss during steps in any order (seed ${seed})`, () =>
    withDirectory((data) => {
      const dice = new SeededNumbers(seed);
      const steps = Array.from(
        { length: STEPS },
        () => KINDS[dice.next() % KINDS.length] ?? "small",
      );
      losePower(data, steps, (images) => {
        const image = images[dice.next() % images.length];
        return image === undefined || dice.next() % 3 > 0 ? [] : [image];
      });
      return Promise.resolve();
    }));
}
