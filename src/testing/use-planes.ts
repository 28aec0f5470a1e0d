import { afterEach } from "vitest";
import { aPlane, type TestPlane } from "./plane.ts";

/** Opens control planes, and closes each one after the test that opened it. */
export function usePlanes(): typeof aPlane {
  const planes: TestPlane[] = [];
  afterEach(async () => {
    for (const plane of planes.splice(0)) await plane.close();
  });
  return async (options) => {
    const opened = await aPlane(options);
    planes.push(opened.plane);
    return opened;
  };
}
