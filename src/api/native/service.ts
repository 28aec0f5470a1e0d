import {
  Busbar,
  OutputDataSchema,
  SubmitJobsResponseSchema,
} from "../../gen/busbar/v1/busbar_pb.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Operations } from "../../server/operations.ts";
import { LOCAL_CALLER } from "./caller.ts";
import { decodeSubmissions } from "./decode-submit.ts";
import { encodeSubmitted } from "./encode-submitted.ts";
import { OfBytes } from "./grpc-of-bytes.ts";
import { defineService, type GrpcService } from "./grpc-service.ts";
import type { Traffic } from "./traffic.ts";
import * as from from "./translate.ts";
import * as fleet from "./translate-fleet.ts";
import * as jobs from "./translate-jobs.ts";
import { message } from "./wire-message.ts";

/** The native API over gRPC: every method of busbar.v1.Busbar is one of `operations`. */
export const busbarService = (
  operations: Operations,
  logger: Logger,
  traffic?: Traffic,
): GrpcService =>
  defineService(
    Busbar,
    {
      submitJobs: new OfBytes(SubmitJobsResponseSchema, async (request) =>
        encodeSubmitted(await operations.submitJobs(LOCAL_CALLER, decodeSubmissions(request))),
      ),
      getJob: async ({ id }) => jobs.toJob(await operations.getJob(id)),
      listJobs: async (request) =>
        jobs.toJobPage(
          await operations.listJobs(from.fromJobFilter(request.filter), from.fromPage(request)),
        ),
      countJobs: async ({ group }) =>
        jobs.toCountsAnswer(await operations.countJobs(group === "" ? undefined : group)),
      listTasks: async (request) =>
        jobs.toTaskPage(
          await operations.listTasks(
            request.jobId,
            from.fromTaskStates(request),
            from.fromPage(request),
          ),
        ),
      getTask: async ({ id }) => jobs.toTask(await operations.getTask(id)),
      cancelJob: async ({ id, reason }) =>
        jobs.toJob(await operations.cancelJob(LOCAL_CALLER, id, reason)),
      explainJob: async ({ id }) => jobs.toExplanation(await operations.explainJob(id)),
      async *readOutput(request, { signal }) {
        for await (const part of operations.readOutput(from.fromReadOutput(request), signal)) {
          yield message(OutputDataSchema, { data: part.data, truncated: part.truncated });
        }
      },
      async *watch(request, { signal }) {
        for await (const event of operations.watch(from.fromWatch(request), signal)) {
          yield fleet.toWatchEvent(event);
        }
      },
      listNodes: async (request) =>
        fleet.toNodePage(
          await operations.listNodes(from.fromNodeFilter(request), from.fromPage(request)),
        ),
      getNode: async ({ name }) => fleet.toNode(await operations.getNode(name)),
      drainNode: async ({ name, reason }) =>
        fleet.toNode(await operations.drainNode(LOCAL_CALLER, name, reason)),
      undrainNode: async ({ name }) =>
        fleet.toNode(await operations.undrainNode(LOCAL_CALLER, name)),
      removeNode: async ({ name }) =>
        fleet.toNodeRemoved(await operations.removeNode(LOCAL_CALLER, name)),
      listClusters: async () => fleet.toClusters(await operations.listClusters()),
      listGroups: async () => fleet.toGroups(await operations.listGroups()),
      putGroup: async (request) =>
        fleet.toGroup(await operations.putGroup(LOCAL_CALLER, from.fromPutGroup(request))),
      removeGroup: async ({ name }) =>
        fleet.toGroupRemoved(await operations.removeGroup(LOCAL_CALLER, name)),
      getStats: async () => fleet.toStats(await operations.stats()),
    },
    { logger, traffic },
  );
