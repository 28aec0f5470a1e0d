import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import { limits } from "../../limits.ts";
import type { AgentSessions } from "../../server/sessions/agent-sessions.ts";
import type { GrpcService } from "../grpc/service.ts";
import type { Traffic } from "../grpc/traffic.ts";
import { RikCallers } from "./callers.ts";
import { Controllers } from "./controllers/controllers.ts";
import { InstanceBook } from "./controllers/instance-book.ts";
import { InstanceLifecycle } from "./controllers/lifecycle.ts";
import type { RikAccess } from "./operations.ts";
import { RestRecords } from "./rest/records.ts";
import { rikServices } from "./service.ts";
import { adoptRecords } from "./workloads/adopt-records.ts";
import { WorkloadBook } from "./workloads/workload-book.ts";
import { Workloads } from "./workloads/workloads.ts";
import type { WorkerTimes } from "./workers/worker.ts";
import { RikWorkers } from "./workers/workers.ts";

export interface RikSettings {
  readonly times: WorkerTimes;
  /** Whether a controller that subscribes receives the status of its instances. */
  readonly replays: boolean;
}

export const RIK_SETTINGS: RikSettings = {
  times: {
    silenceMs: limits.rikSilenceMs,
    lostAfterMs: limits.rikLostAfterMs,
    destroy: { retryMs: limits.rikDestroyRetryMs, triesMax: limits.rikDestroyTriesMax },
  },
  replays: true,
};

export interface RikDoorOptions {
  readonly operations: RikAccess;
  readonly sessions: AgentSessions;
  /** The id of this server, stored with its data: it recognizes nodes by it. */
  readonly agentSecret: string;
  /** The secret of callers; undefined: no credential is required. */
  readonly secret: string | undefined;
  readonly settings?: RikSettings | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly traffic?: Traffic | undefined;
}

/** rik's scheduler, over one control plane. */
export interface RikDoor {
  readonly worker: GrpcService;
  readonly controller: GrpcService;
  readonly workers: RikWorkers;
  readonly controllers: Controllers;
  readonly book: InstanceBook;
  readonly lifecycle: InstanceLifecycle;
  readonly callers: RikCallers;
  readonly records: RestRecords;
  readonly workloadBook: WorkloadBook;
  readonly workloads: Workloads;
  readonly random: Random;
  close(): void;
}

/** Reads the existing instances before it serves any client. */
export async function openRikDoor(options: RikDoorOptions): Promise<RikDoor> {
  const { operations, sessions, agentSecret, secret, settings = RIK_SETTINGS } = options;
  const { clock, random, logger, traffic } = options;
  const callers = new RikCallers(secret);
  const { times, replays } = settings;
  const workers = new RikWorkers({ sessions, secret: agentSecret, times, clock, random, logger });
  const book = new InstanceBook(operations);
  const lifecycle = new InstanceLifecycle({ operations, book, logger });
  const controllers = new Controllers({ book, lifecycle, workers, clock, logger, replays });
  const records = new RestRecords(operations);
  const workloadBook = new WorkloadBook(operations);
  const workloads = new Workloads({ operations, workloads: workloadBook, book });
  try {
    await records.open();
    await workloadBook.open();
    await adoptRecords({ operations, records, workloadBook, workloads, logger });
    await book.open(workloadBook.all(), (instance) => controllers.changed(instance));
  } catch (error) {
    workers.close();
    workloadBook.close();
    throw error;
  }
  const services = rikServices({ callers, workers, controllers, logger, traffic });
  return {
    ...services,
    workers,
    controllers,
    book,
    lifecycle,
    callers,
    records,
    workloadBook,
    workloads,
    random,
    close() {
      workers.close();
      book.close();
      workloadBook.close();
    },
  };
}
