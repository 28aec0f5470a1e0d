import { expect, test } from "vitest";
import { acceptsGzip } from "./accept-encoding.ts";

const cases: readonly [header: string | undefined, isAccepted: boolean][] = [
  [undefined, false],
  ["", false],
  ["gzip", true],
  ["x-gzip", true],
  ["GZip", true],
  ["gzip, deflate, br, zstd", true],
  ["identity,deflate,gzip", true],
  ["deflate, gzip;q=1.0, *;q=0.5", true],
  ["br;q=1.0, gzip; q=0.2", true],
  ["gzip;q=0", false],
  ["gzip;q=0.000, identity", false],
  ["gzip;q=0.5, identity;q=0.9", false],
  ["gzip;q=0.5, identity;q=0.5", true],
  ["gzip;q=0.5, identity;q=0", true],
  ["gzip;q=yes", false],
  ["gzip;q=2", false],
  ["*", false],
  ["br", false],
  ["gzipped", false],
  ["no gzip", false],
  [";;,,;q=", false],
];
for (const [header, isAccepted] of cases) {
  test(`Accept-Encoding ${header ?? "left out"} ${isAccepted ? "takes" : "does not take"} gzip`, () => {
    expect(acceptsGzip(header)).toBe(isAccepted);
  });
}
