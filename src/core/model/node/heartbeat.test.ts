import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { linkTimesProblem, silenceMsMax } from "./heartbeat.ts";

test.each<[string, Parameters<typeof linkTimesProblem>, string | undefined]>([
  ["nothing", [{}], undefined],
  ["the defaults", [{ heartbeatMs: 5_000 }, limits.nodeLostAfterMs], undefined],
  ["a satellite link", [{ heartbeatMs: 20_000, silenceMs: 90_000 }, 3_600_000], undefined],
  [
    "a silence that a late heartbeat breaks",
    [{ heartbeatMs: 8_000, silenceMs: 10_000 }],
    "a silence of 10s is too short for a heartbeat of 8s: a silence of at least 24s, or a shorter heartbeat",
  ],
  ["a silence with the default heartbeat", [{ silenceMs: 14_999 }], "heartbeat of 5s"],
  ["a heartbeat that floods", [{ heartbeatMs: 10 }], "is not within 250ms and 10m"],
  ["a silence without end", [{ silenceMs: 7_200_000 }], "is longer than 1h"],
  [
    "a node that is lost before its link is given up",
    [{ silenceMs: 90_000 }, 60_000],
    "lost after 1m, before its link is closed after a silence of 1m30s: choose more than 1m30s",
  ],
  ["the same by its heartbeat", [{ heartbeatMs: 30_000 }, 60_000], "a silence of 1m10s"],
])("times of a link: %s", (_name, given, problem) => {
  const found = linkTimesProblem(...given);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toContain(problem);
});

test("an explicit silence counts, whatever the interval", () => {
  expect(silenceMsMax(5_000)).toBe(20_000);
  expect(silenceMsMax(20_000, { silenceMs: 90_000 })).toBe(90_000);
});
