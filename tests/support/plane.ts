import { randomBytes } from "node:crypto";
import type { LinkTimes } from "../../src/core/model/node/heartbeat.ts";
import type { PolicyNames } from "../../src/core/scheduler/policy.ts";
import { limits } from "../../src/limits.ts";
import type { DocumentReader } from "../../src/ports/document-reader.ts";
import type { Logger } from "../../src/ports/logger.ts";
import type { SecretHasher } from "../../src/ports/secret-hasher.ts";
import type { Store } from "../../src/ports/store.ts";
import type { ControlPlane } from "../../src/server/control-plane.ts";
import { openControlPlane } from "../../src/server/control-plane.ts";
import { createInlineReader } from "../../src/server/readers/inline-reader.ts";
import { createMemoryStore } from "../../src/store/memory/memory-store.ts";
import { FakeClock } from "./fake-clock.ts";
import { QuickHasher } from "./quick-hasher.ts";
import { silentLogger } from "./silent-logger.ts";

/** A control plane without wires, on a clock turned by hand. */
export async function aPlane(
  options: {
    readonly store?: Store;
    readonly clock?: FakeClock;
    readonly logger?: Logger;
    readonly hasher?: SecretHasher;
    readonly reader?: DocumentReader;
    readonly policies?: PolicyNames;
    readonly linkTimes?: LinkTimes | undefined;
  } = {},
): Promise<{ readonly plane: ControlPlane; readonly clock: FakeClock }> {
  const clock = options.clock ?? new FakeClock();
  const plane = await openControlPlane({
    store: options.store ?? createMemoryStore(),
    clock,
    random: { fraction: () => 0, token: (bytes) => randomBytes(bytes).toString("hex") },
    hasher: options.hasher ?? new QuickHasher(),
    reader: options.reader ?? createInlineReader(),
    logger: options.logger ?? silentLogger,
    version: "test",
    policies: options.policies ?? { policy: "spread" },
    settings: {
      nodeLostAfterMs: limits.nodeLostAfterMs,
      finishedTasksMax: limits.finishedTasksMax,
      finishedAgeMsMax: limits.finishedAgeMsMax,
    },
    linkTimes: options.linkTimes,
    soon: (run) => setImmediate(run),
    onBroken: (error) => {
      throw error;
    },
  });
  return { plane, clock };
}
