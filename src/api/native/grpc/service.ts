import {
  Busbar,
  BackupDataSchema,
  OutputDataSchema,
  SubmitJobsResponseSchema,
  WatchEventSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { acceptsGzip } from "../../../lib/bytes/accept-encoding.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { LOCAL_CALLER } from "../caller.ts";
import { decodeSubmissions } from "./decode-submit.ts";
import { encodeSubmitted } from "./encode-submitted.ts";
import { OfBytes } from "../../grpc/calls/bytes-method.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import { PushedFrames } from "../../grpc/calls/pushed-frames.ts";
import { defineService, type GrpcService } from "../../grpc/service.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import * as from from "./translate.ts";
import * as clusters from "./translate-clusters.ts";
import * as fleet from "./translate-fleet.ts";
import * as handed from "./translate-accepted.ts";
import * as jobs from "./translate-jobs.ts";
import { message } from "../../grpc/calls/wire-message.ts";
import { watchFormat } from "./watch-frames.ts";

function submit(operations: Operations, request: Uint8Array) {
  const { jobs: submissions, allowUnsatisfiable } = decodeSubmissions(request);
  return operations.submitJobs(LOCAL_CALLER, submissions, { allowUnsatisfiable });
}

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
        encodeSubmitted(await submit(operations, request)),
      ),
      submitJobspec: async (request) =>
        jobs.toSubmittedJobs(
          await operations.submitJobspec(LOCAL_CALLER, from.fromJobspec(request)),
        ),
      tryJobs: async (request) =>
        jobs.toTried(await operations.tryJobs(LOCAL_CALLER, from.fromTry(request))),
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
      async *backup() {
        for await (const { data } of operations.backup()) yield message(BackupDataSchema, { data });
      },
      watch: new PushedFrames(WatchEventSchema, (request, { connection, peer, headers }, sink) => {
        const caller = { connection, address: addressOf(peer) };
        const gzip = acceptsGzip(headers["grpc-accept-encoding"]?.toString());
        const format = watchFormat({ batches: request.batches, gzip });
        const watch = operations.watch(from.fromWatch(request), { format, sink, caller });
        if (gzip) sink.announce("gzip");
        return watch;
      }),
      listNodes: async (request) =>
        fleet.toNodePage(
          await operations.listNodes(from.fromNodeFilter(request), from.fromPage(request)),
        ),
      getNode: async ({ name }) => fleet.toNode(await operations.getNode(name)),
      drainNode: async ({ name, reason }) =>
        fleet.toNode(await operations.drainNode(LOCAL_CALLER, name, reason)),
      undrainNode: async ({ name }) =>
        fleet.toNode(await operations.undrainNode(LOCAL_CALLER, name)),
      setNode: async ({ name, onLost, lostAfterMs }) =>
        fleet.toNode(await operations.setNode(LOCAL_CALLER, name, { onLost, lostAfterMs })),
      removeNode: async ({ name }) =>
        fleet.toNodeRemoved(await operations.removeNode(LOCAL_CALLER, name)),
      listClusters: async () => clusters.toClusters(await operations.listClusters()),
      getCluster: async ({ name }) => clusters.toCluster(await operations.getCluster(name)),
      registerCluster: async (request) =>
        clusters.toRegistered(
          await operations.registerCluster(LOCAL_CALLER, clusters.fromRegisterCluster(request)),
        ),
      deleteCluster: async ({ name }) =>
        clusters.toClusterDeleted(await operations.deleteCluster(LOCAL_CALLER, name)),
      getClusterGraph: async ({ name }) =>
        clusters.toDocument(await operations.getClusterGraph(name)),
      addSubsystem: async (request) =>
        clusters.toCluster(
          await operations.addSubsystem(LOCAL_CALLER, clusters.fromAddSubsystem(request)),
        ),
      removeSubsystem: async ({ cluster, name }) =>
        clusters.toSubsystemRemoved(
          await operations.removeSubsystem(LOCAL_CALLER, { cluster, name }),
        ),
      getSubsystem: async ({ cluster, name }) =>
        clusters.toDocument(await operations.getSubsystem({ cluster, name })),
      setClusterState: async (request) =>
        clusters.toCluster(
          await operations.setClusterState(LOCAL_CALLER, clusters.fromSetState(request)),
        ),
      listOfferedTasks: async ({ cluster, max }) =>
        handed.toOffered(await operations.listOffered(cluster, max === 0 ? undefined : max)),
      acceptTasks: async ({ cluster, ids }) =>
        handed.toAccepted(await operations.acceptTasks(LOCAL_CALLER, cluster, ids)),
      reportTasks: async ({ cluster, reports }) =>
        handed.toReported(
          await operations.reportTasks(LOCAL_CALLER, cluster, reports.map(handed.fromReport)),
        ),
      rotateClusterCredentials: async (request) =>
        clusters.toRotated(
          await operations.rotateCredentials(
            LOCAL_CALLER,
            request.cluster,
            clusters.fromRotate(request),
          ),
        ),
      setCredentials: async (request) =>
        clusters.toCredentialsSet(
          await operations.setCredentials(LOCAL_CALLER, clusters.fromSetCredentials(request)),
        ),
      satisfy: async (request) =>
        clusters.toSatisfied(await operations.satisfy(clusters.fromSatisfy(request))),
      listGroups: async () => fleet.toGroups(await operations.listGroups()),
      putGroup: async (request) =>
        fleet.toGroup(await operations.putGroup(LOCAL_CALLER, from.fromPutGroup(request))),
      removeGroup: async ({ name }) =>
        fleet.toGroupRemoved(await operations.removeGroup(LOCAL_CALLER, name)),
      getStats: async () => fleet.toStats(await operations.stats()),
    },
    {
      logger,
      traffic,
      large: {
        requests: ["registerCluster", "addSubsystem"],
        answers: [
          "getClusterGraph",
          "getSubsystem",
          "listClusters",
          "satisfy",
          "tryJobs",
          "listOfferedTasks",
        ],
      },
    },
  );
