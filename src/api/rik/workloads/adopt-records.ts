import type { RikPrincipal } from "../../../core/access/principal.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { JobView } from "../../../server/views/views.ts";
import type { RikAccess } from "../operations.ts";
import type { RestRecords, StoredWorkload } from "../rest/records.ts";
import { restName, WORKLOAD_LABEL } from "../translate.ts";
import type { WorkloadBook } from "./workload-book.ts";
import type { Workloads } from "./workloads.ts";

interface Parts {
  readonly operations: RikAccess;
  readonly records: RestRecords;
  readonly workloadBook: WorkloadBook;
  readonly workloads: Workloads;
  readonly logger: Logger;
}

/**
 * Turns workloads that an earlier version stored as records into services, and their single jobs into instances of these. This
 * happens before workers are served, which run nothing when they register: every instance is placed again after a restart anyway.
 * A record is removed when all of it is done, so that the next start continues where this one was interrupted.
 */
export async function adoptRecords(parts: Parts): Promise<void> {
  const { records, logger } = parts;
  for (const record of records.workloads.values()) {
    try {
      await adopt(parts, record);
      await records.removeWorkload(record.id);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "unavailable") throw error;
      const reason = describeChain(error);
      logger.warn(
        { workload: record.id, reason },
        "a workload of an earlier version is not served",
      );
    }
  }
}

async function adopt(parts: Parts, record: StoredWorkload): Promise<void> {
  const { operations, workloads, workloadBook, logger } = parts;
  const name = restName(record.owner);
  const by: RikPrincipal = name === undefined ? { kind: "rik" } : { kind: "rik", name };
  await workloads.adopt(record, by);
  const { service } = workloadBook.get(record.id) ?? { service: "" };
  const asOwner = operations.as(by);
  for (const { id, spec } of await singleJobs(parts, record.id, by)) {
    try {
      // In this order: an interruption between the two leaves both, and the next start ends the first.
      await asOwner.addInstances(service, [spec.name]);
      await asOwner.cancelJob(id, `it is an instance of service ${service} from now on`);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === "unavailable") throw error;
      // Names that no instance of a service can have: such a job continues unchanged.
      logger.warn({ job: id, reason: describeChain(error) }, "an instance stays a single job");
    }
  }
}

/** The jobs that have not ended; a failed one needs nothing. */
async function singleJobs(
  { operations }: Parts,
  workloadId: string,
  by: RikPrincipal,
): Promise<JobView[]> {
  const found: JobView[] = [];
  let pageToken: string | undefined;
  do {
    const filter = { labels: { [WORKLOAD_LABEL]: workloadId }, states: LIVE };
    const page = { pageSize: limits.pageSizeMax, pageToken };
    const { jobs, nextPageToken } = await operations.as(by).listJobs(filter, page);
    found.push(...jobs.filter(({ instance }) => instance === undefined));
    pageToken = nextPageToken;
  } while (pageToken !== undefined);
  return found;
}

const LIVE = ["pending", "running"] as const;
