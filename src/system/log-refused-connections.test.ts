import { expect, test } from "vitest";
import { FakeClock } from "../testing/fake-clock.ts";
import { silentLogger } from "../testing/silent-logger.ts";
import { logRefusedConnections } from "./log-refused-connections.ts";

test("refused connections are logged a few seconds later, together and once", () => {
  const clock = new FakeClock();
  const pool = { refused: 3, connectionsMax: 768 };
  const logged: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
  const stop = logRefusedConnections(pool, { clock, logger });
  clock.advance(3_000);
  expect(logged).toEqual([]);
  pool.refused = 25;
  clock.advance(30_000);
  expect(logged).toEqual([{ refused: 22, connectionsMax: 768 }]);
  stop();
  pool.refused = 26;
  clock.advance(30_000);
  expect(logged).toHaveLength(1);
});
