import { expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { FakeClock } from "../../../testing/fake-clock.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { RefusalLog } from "./refusal-log.ts";

test("callers that choose new host names cannot fill the log", () => {
  let warnings = 0;
  const logger = { ...silentLogger, warn: () => void warnings++ };
  const clock = new FakeClock();
  const log = new RefusalLog({ clock, logger });
  const flood = (): void => {
    for (let at = 0; at < 2 * limits.rikRefusalsMax; at++)
      log.refused(`host-${at}`, "127.0.0.1:1", new AppError("unauthenticated", "no token"));
  };
  flood();
  flood();
  expect(warnings).toBe(limits.rikRefusalsMax);
  clock.advance(limits.rikRefusalLogMs);
  flood();
  expect(warnings).toBe(2 * limits.rikRefusalsMax);
});
