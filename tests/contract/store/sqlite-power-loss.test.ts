import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SeededNumbers } from "../../../src/lib/seeded-numbers.ts";
import type { Batch, StoredRow } from "../../../src/ports/store.ts";
import type { Database } from "../../../src/store/sqlite/database.ts";
import { packBatch, unpackRows } from "../../../src/store/sqlite/messages.ts";
import { openDatabase } from "../../../src/store/sqlite/open-database.ts";
import { JournalAppender } from "../../../src/store/sqlite/record/journal-appender.ts";
import { lastIssued, readRecord } from "../../../src/store/sqlite/record/record-file.ts";
import { commit, tooLong, withDirectory } from "./sqlite-support.ts";
import { put } from "./store-data.ts";
import { type Image, TrackedFiles } from "./tracked-files.ts";

/** Something that the store does; "append": a small commit by another thread, to which the journal is lent. */
type Step = "append" | "small" | "large" | "apply" | "rest" | "checkpoint" | "kill";

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

/** A database, whose journal is lent whenever a step is "append" or "apply". */
class Opened {
  readonly database: Database;
  readonly #directory: string;
  #journal: JournalAppender | undefined;

  constructor(directory: string) {
    this.#directory = directory;
    this.database = openDatabase(directory);
  }

  take(step: Exclude<Step, "kill">, expected: Expected): void {
    if (step === "append") return this.#append(expected);
    if (step === "apply") return this.database.apply();
    this.takeBack();
    if (step === "rest" || step === "checkpoint") return this.database[step]();
    const batch = expected.next(step === "large");
    commit(this.database, batch);
    expected.acknowledged = batch.revision;
  }

  takeBack(): void {
    if (this.#journal !== undefined) this.database.takeBack(this.#journal.tail);
    this.#journal?.close();
    this.#journal = undefined;
  }

  #append(expected: Expected): void {
    this.#journal ??= new JournalAppender(this.#directory, this.database.lend());
    const batch = packBatch(expected.next(false));
    const bytes = this.#journal.bytesFor([batch]);
    if (bytes === undefined) throw new Error("the journal is full");
    this.#journal.append([batch], bytes, (error) => expect(error).toBeUndefined());
    expected.acknowledged = batch.revision;
    this.database.journaled([batch]);
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
  const all: Opened[] = [];
  try {
    let opened = new Opened(`${data}-0`);
    all.push(opened);
    for (const step of steps) {
      if (step === "kill") {
        files.moveTo(`${data}-${all.length}`);
        opened = new Opened(`${data}-${all.length}`);
        all.push(opened);
      } else opened.take(step, expected);
      files.look();
    }
  } finally {
    files.off();
    for (const each of all) {
      each.takeBack();
      each.database.close();
    }
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

test("the same while another thread appends to the journal", () =>
  withDirectory((data) => {
    const steps: Step[] = ["append", "append", "apply", "append", "rest", "append", "append"];
    const more: Step[] = ["apply", "append", "kill", "append", "apply", "append", "apply"];
    const slots: Step[] = ["append", "apply", "append", "apply", "append", "apply", "append"];
    const end: Step[] = ["apply", "append", "large", "append", "checkpoint", "append", "kill"];
    const all: Step[] = [...steps, ...more, ...slots, ...end, "append", "small", "append"];
    const count = losePower(data, all, (images) => images);
    expect(count).toBeGreaterThan(300);
    return Promise.resolve();
  }));

const SEEDS = 10;
const STEPS = 40;
const KINDS: readonly Step[] = [
  "append",
  "append",
  "append",
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
