import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createBusbar } from "../../../src/agent/executors/busbar/busbar.ts";
import { createClient } from "../../../src/client/client.ts";
import { State } from "../../../src/gen/busbar/v1/busbar_pb.ts";
import type { Executor } from "../../../src/ports/executor.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import type { ExecutorBed } from "./executor-contract.ts";
import { realClock } from "./process-bed.ts";

export interface BusbarBed extends ExecutorBed {
  /** The directory of the executor's journal. */
  readonly directory: string;
  readonly group: string;
  open(): Promise<Executor>;
}

/** A site of the Busbar at `server()`: its executors, one after another, and their jobs there. */
export function makeBusbarBed(server: () => string): BusbarBed {
  const directory = mkdtempSync(join(tmpdir(), "busbar-site-"));
  const fingerprint = randomBytes(8).toString("hex");
  const group = `upstream-${fingerprint}`;
  return {
    directory,
    group,
    async open() {
      const place = { directory: join(directory, "busbar"), cluster: "site", fingerprint, group };
      const how = { below: undefined, clock: realClock, logger: silentLogger };
      return (await createBusbar({ to: server(), ...place, ...how })).executor;
    },
    async abandon(executor) {
      await executor.close();
    },
    async dispose() {
      const client = createClient({ server: server() });
      const states = [State.PENDING, State.RUNNING];
      const { jobs } = await client.listJobs({ filter: { group, states } });
      for (const { id } of jobs) await client.cancelJob({ id });
      client.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
