import { expect, test } from "vitest";
import { inSlices, Turns } from "./in-slices.ts";

/** Turns of an event loop that the test drives by hand. */
function aLoop() {
  const soon: (() => void)[] = [];
  const turns = new Turns((run) => void soon.push(run));
  const turn = async (): Promise<void> => {
    for (const run of soon.splice(0)) run();
    for (let each = 0; each < 10; each++) await Promise.resolve();
  };
  return { turns, turn };
}

function* work(name: string, slices: number, log: string[]): Generator<undefined, string> {
  for (let slice = 0; slice < slices; slice++) {
    if (slice > 0) yield;
    log.push(name);
  }
  return name;
}

test("one turn runs one slice, however many callers wait", async () => {
  const { turns, turn } = aLoop();
  const log: string[] = [];
  const all = Array.from({ length: 100 }, (_, at) => inSlices(work(`w${at}`, 3, log), turns));
  expect(log).toHaveLength(100); // the first slice of each runs at once
  for (let each = 1; each <= 200; each++) {
    await turn();
    expect(log).toHaveLength(100 + each);
  }
  expect(await Promise.all(all)).toHaveLength(100);
});

test("short work ends while a crowd of long work continues", async () => {
  const { turns, turn } = aLoop();
  const log: string[] = [];
  const crowd = Array.from({ length: 50 }, () => inSlices(work("long", 20, log), turns));
  for (let each = 0; each < 200; each++) await turn();
  let isOver = false;
  const short = inSlices(work("short", 4, log), turns).then(() => (isOver = true));
  for (let each = 0; each < 6; each++) await turn();
  expect(isOver).toBe(true);
  await short;
  const before = log.length;
  for (let each = 0; each < 10; each++) await turn();
  expect(log.slice(before)).toEqual(Array.from({ length: 10 }, () => "long"));
  while (log.length < 50 * 20 + 4) await turn();
  await Promise.all(crowd);
});

test("long work makes progress while short work keeps coming", async () => {
  const { turns, turn } = aLoop();
  const log: string[] = [];
  const long = inSlices(work("long", 30, log), turns);
  const shorts: Promise<string>[] = [];
  for (let each = 0; each < 60; each++) {
    shorts.push(inSlices(work("short", 2, log), turns));
    await turn();
  }
  expect(log.filter((name) => name === "long").length).toBeGreaterThan(10);
  for (let each = 0; each < 60; each++) await turn();
  expect(await long).toBe("long");
  await Promise.all(shorts);
});
