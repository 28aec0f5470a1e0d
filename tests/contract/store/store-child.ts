import { setTimeout as sleep } from "node:timers/promises";
import { invariant } from "../../../src/lib/invariant.ts";
import { openSqlite, ROWS_PER_BATCH } from "./sqlite-support.ts";

// A process that opens a store and follows its role:
//   hold    prints "open" and waits to be killed
//   commit  commits batches, several at once, and prints each revision as it is acknowledged
//   finish  commits once, closes, and must then end by itself

const [role, directory] = process.argv.slice(2);
invariant(directory !== undefined, "usage: store-child <role> <directory>");

const IN_FLIGHT = 3;
const store = await openSqlite(directory);

/** Writes its own rows, deletes those of two batches ago, and rewrites a shared one. */
async function commit(revision: number): Promise<void> {
  const writes = Array.from({ length: ROWS_PER_BATCH }, (_, index) => [
    { key: `${revision}/${index}`, value: `${revision}`.repeat(50) },
    { key: `${revision - 2}/${index}`, value: undefined },
  ]).flat();
  await store.commit({ revision, writes: [...writes, { key: "last", value: `${revision}` }] });
  process.stdout.write(`${revision}\n`);
}

if (role === "commit") {
  const pending: Promise<void>[] = [];
  for (let revision = store.revision() + 1; ; revision += 1) {
    pending.push(commit(revision));
    if (pending.length >= IN_FLIGHT) await pending.shift();
  }
} else if (role === "hold") {
  process.stdout.write("open\n");
  await sleep(600_000);
} else {
  await commit(store.revision() + 1);
  await store.close();
}
