import type { Server } from "./site.ts";
import { sleep } from "./numbers.ts";
import { distinctJobs, openWire, submitAll } from "./wire.ts";

const JOBS_PER_CALL = 5_000;
const CALLS_PREPARED = 20;

/** Requests for `count` distinct jobs in calls of 5,000. */
export function bulkRequests(first: number, count: number): Buffer[] {
  const requests: Buffer[] = [];
  for (let at = 0; at < count; at += JOBS_PER_CALL) {
    requests.push(distinctJobs(first + at, Math.min(JOBS_PER_CALL, count - at)));
  }
  return requests;
}

/** Queues this many single jobs; prepared in parts, so that the bench itself stays small. */
export async function fillQueue({ grpc, client }: Server, count: number): Promise<void> {
  const wire = openWire(grpc);
  const part = JOBS_PER_CALL * CALLS_PREPARED;
  for (let at = 0; at < count; at += part) {
    const jobs = Math.min(part, count - at);
    await submitAll(wire, bulkRequests(at, jobs), { inFlight: 4, jobs });
  }
  wire.close();
  const queued = Number((await client.countJobs({})).tasks?.pending ?? 0);
  if (queued !== count) throw new Error(`${count} jobs were submitted and ${queued} are queued`);
}

/** Waits until an idle server has collected its garbage: the memory after that counts. */
export const settle = (): Promise<void> => sleep(5_000);
