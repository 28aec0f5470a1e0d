import { randomBytes } from "node:crypto";
import type { Random } from "../ports/random.ts";

export const createSystemRandom = (): Random => ({
  fraction: () => Math.random(),
  token: (bytes) => randomBytes(bytes).toString("hex"),
});
