import * as fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { ConnectionPool, type PortConnections } from "./connection-pool.ts";

const admitAll = (port: PortConnections): number => {
  let admitted = 0;
  while (port.admit()) admitted++;
  return admitted;
};

const sizes = [
  { descriptors: 1_024, connections: 768 },
  { descriptors: 400, connections: 200 },
  { descriptors: 20_000, connections: 19_744 },
];
for (const { descriptors, connections } of sizes) {
  test(`of ${descriptors} descriptors, connections take ${connections}`, () => {
    const pool = new ConnectionPool(descriptors);
    expect(pool.connectionsMax).toBe(connections);
    expect(admitAll(pool.join())).toBe(connections);
    expect(pool.refused).toBe(1);
  });
}

test("a port that accepts all it can leaves the others their guaranteed connections", () => {
  const pool = new ConnectionPool(1_024);
  const [flooded, quiet, other] = [pool.join(), pool.join(), pool.join()];
  expect(pool.guaranteed).toBe(limits.connectionsGuaranteed);
  expect(admitAll(flooded)).toBe(768 - 2 * limits.connectionsGuaranteed);
  expect(admitAll(quiet)).toBe(limits.connectionsGuaranteed);
  expect(admitAll(other)).toBe(limits.connectionsGuaranteed);
  flooded.closed();
  expect(quiet.admit()).toBe(true);
  expect(flooded.admit()).toBe(false);
});

test("a port that has left needs nothing any more", () => {
  const pool = new ConnectionPool(1_024);
  const [one, two] = [pool.join(), pool.join()];
  pool.leave(two);
  expect(admitAll(one)).toBe(768);
});

test("without a limit of the process each port has one of its own", () => {
  expect(admitAll(new ConnectionPool(Infinity).join())).toBe(limits.connectionsMax);
});

const step = fc.record({ port: fc.nat(3), opens: fc.boolean() });
test("in any order, guaranteed connections are accepted and the process keeps its descriptors", () => {
  fc.assert(
    fc.property(fc.integer({ min: 16, max: 600 }), fc.array(step), (descriptors, steps) => {
      const pool = new ConnectionPool(descriptors);
      const ports = Array.from({ length: 4 }, () => pool.join());
      for (const { port: at, opens } of steps) {
        const port = ports[at];
        if (port === undefined) continue;
        if (opens) expect(port.admit() || port.open >= pool.guaranteed).toBe(true);
        else if (port.open > 0) port.closed();
        const open = ports.reduce((sum, one) => sum + one.open, 0);
        expect(open).toBeLessThanOrEqual(pool.connectionsMax);
      }
    }),
  );
});
