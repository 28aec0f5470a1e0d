import * as fc from "fast-check";
import { expect, test } from "vitest";
import { WatchPosition } from "./watch-position.ts";

type Event = Parameters<WatchPosition["take"]>[0];

const job = (revision: number): Event => ({
  revision: BigInt(revision),
  event: { case: "removed", value: {} as never },
});
const sync = (revision: number): Event => ({
  revision: BigInt(revision),
  event: { case: "sync", value: {} as never },
});

/** Commits of some events each, from revision 1 on. */
const aLog = fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 8 });
const cuts = fc.array(fc.record({ after: fc.nat(12), isTold: fc.boolean() }), { maxLength: 12 });

test("wherever links are lost, each event is new once", () => {
  fc.assert(
    fc.property(aLog, cuts, (log, losses) => {
      const revisions = log.flatMap((events, at) => Array<number>(events).fill(at + 2));
      const position = new WatchPosition(1n);
      const seen: number[] = [];
      for (const { after, isTold } of [...losses, { after: Infinity, isTold: false }]) {
        position.begin();
        const from = Number(position.after);
        const stream = [sync(from), ...revisions.filter((each) => each > from).map(job)];
        const got = stream.slice(0, after);
        for (const event of got) {
          if (position.take(event) && event.event.case !== "sync")
            seen.push(Number(event.revision));
        }
        // A server that ends a watch names the last commit of which it has sent everything.
        const next = Number(stream[got.length]?.revision ?? log.length + 2);
        if (isTold && got.length > 0) position.sawAll(BigInt(next - 1));
      }
      expect(seen).toEqual(revisions);
    }),
  );
});

test("a reader that was told all up to a revision resumes there", () => {
  const position = new WatchPosition(0n);
  position.take(sync(5));
  position.take(job(7));
  expect(position.after).toBe(6n);
  position.take({ revision: 9n, event: { case: "bookmark", value: {} as never } });
  expect(position.after).toBe(9n);
});

test("without history it goes on after the commit that it saw in part, then from now on", () => {
  const position = new WatchPosition(0n);
  position.take(sync(5));
  position.take(job(7));
  position.loseHistory();
  expect(position.after).toBe(7n);
  position.loseHistory();
  expect(position.after).toBe(0n);
});

test("of the first commit of all nothing is repeated: before it is no revision to name", () => {
  const position = new WatchPosition(0n);
  position.take(job(1));
  expect(position.after).toBe(1n);
});
