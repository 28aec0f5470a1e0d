import { randomBytes } from "node:crypto";
import { LOCAL } from "../core/access/principal.ts";
import type { LinkTimes } from "../core/model/node/heartbeat.ts";
import type { PolicyNames } from "../core/scheduler/policy.ts";
import { limits } from "../limits.ts";
import type { DocumentReader } from "../ports/document-reader.ts";
import type { Logger } from "../ports/logger.ts";
import type { SecretHasher } from "../ports/secret-hasher.ts";
import type { Store } from "../ports/store.ts";
import type { ControlPlane } from "../server/control-plane.ts";
import { openControlPlane } from "../server/control-plane.ts";
import type { Operations } from "../server/operations/operations.ts";
import { createInlineReader } from "../server/readers/inline-reader.ts";
import { createMemoryStore } from "../store/memory/memory-store.ts";
import { FakeClock } from "./fake-clock.ts";
import { QuickHasher } from "./quick-hasher.ts";
import { silentLogger } from "./silent-logger.ts";

/** Its operations are those of a local caller, unless `as` names another principal. */
export type TestPlane = ControlPlane & { readonly operations: Operations };

/** The same control plane, for tests that query it directly. */
export const asTestPlane = (plane: ControlPlane): TestPlane => ({
  ...plane,
  operations: { ...plane.operations.as(LOCAL), as: (principal) => plane.operations.as(principal) },
});

/** A control plane without a network, on a fake clock. */
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
): Promise<{ readonly plane: TestPlane; readonly clock: FakeClock }> {
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
  return { plane: asTestPlane(plane), clock };
}
