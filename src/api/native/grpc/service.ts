import {
  Busbar,
  BackupDataSchema,
  OutputDataSchema,
  SubmitJobsResponseSchema,
  WatchEventSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { acceptsGzip } from "../../../lib/bytes/accept-encoding.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Operations, OperationsAccess } from "../../../server/operations/operations.ts";
import { attachCall } from "./attach/attach-call.ts";
import { decodeSubmissions } from "./decode-submit.ts";
import { encodeSubmitted } from "./encode-submitted.ts";
import { BytesMethod } from "../../grpc/calls/bytes-method.ts";
import type { CallContext } from "../../grpc/calls/call-context.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import { PushedFrames } from "../../grpc/calls/pushed-frames.ts";
import { defineService, type GrpcService } from "../../grpc/service.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import * as from from "./translate.ts";
import * as clusters from "./translate-clusters.ts";
import * as fleet from "./translate-fleet.ts";
import * as accepted from "./translate-accepted.ts";
import * as jobs from "./translate-jobs.ts";
import * as services from "./services/translate-services.ts";
import { message } from "../../grpc/calls/wire-message.ts";
import { watchFormat } from "./watch-frames.ts";

function submit(operations: Operations, request: Uint8Array) {
  const { jobs: submissions, allowUnsatisfiable } = decodeSubmissions(request);
  return operations.submitJobs(submissions, { allowUnsatisfiable });
}

/** The native API over gRPC: every method of busbar.v1.Busbar is one of `operations`. */
export const busbarService = (
  operations: OperationsAccess,
  logger: Logger,
  traffic?: Traffic,
): GrpcService => {
  const by = ({ principal }: CallContext): Operations => operations.as(principal);
  return defineService(
    Busbar,
    {
      submitJobs: new BytesMethod(SubmitJobsResponseSchema, async (request, call) =>
        encodeSubmitted(await submit(by(call), request)),
      ),
      submitJobspec: async (request, call) =>
        jobs.toSubmittedJobs(await by(call).submitJobspec(from.fromJobspec(request))),
      tryJobs: async (request, call) => jobs.toTried(await by(call).tryJobs(from.fromTry(request))),
      getJob: async ({ id }, call) => jobs.toJob(await by(call).getJob(id)),
      listJobs: async (request, call) =>
        jobs.toJobPage(
          await by(call).listJobs(from.fromJobFilter(request.filter), from.fromJobPage(request)),
        ),
      countJobs: async ({ group }, call) => jobs.toCountsAnswer(await by(call).countJobs(group)),
      listTasks: async (request, call) =>
        jobs.toTaskPage(
          await by(call).listTasks(
            request.jobId,
            from.fromTaskStates(request),
            from.fromPage(request),
          ),
        ),
      getTask: async ({ id }, call) => jobs.toTask(await by(call).getTask(id)),
      cancelJob: async ({ id, reason, ifRevision }, call) =>
        jobs.toJob(await by(call).cancelJob(id, reason ?? "", from.fromCondition({ ifRevision }))),
      holdJob: async ({ id, reason, ifRevision }, call) =>
        jobs.toJob(await by(call).holdJob(id, reason ?? "", from.fromCondition({ ifRevision }))),
      releaseJob: async ({ id, ifRevision }, call) =>
        jobs.toJob(await by(call).releaseJob(id, from.fromCondition({ ifRevision }))),
      requeueJob: async ({ id, reason, ifRevision }, call) =>
        jobs.toJob(await by(call).requeueJob(id, reason ?? "", from.fromCondition({ ifRevision }))),
      updateJob: async (request, call) =>
        jobs.toJob(await by(call).updateJob(request.id, from.fromUpdateJob(request))),
      rerunJob: async (request, call) =>
        jobs.toSubmittedJobs(await by(call).rerunJob(request.id, from.fromRerunJob(request))),
      reportProgress: async ({ id, percent, message: text, attempt }, call) =>
        jobs.toTask(await by(call).reportProgress(id, { percent, message: text, attempt })),
      explainJob: async ({ id }, call) => jobs.toExplanation(await by(call).explainJob(id)),
      async *readOutput(request, call) {
        for await (const part of by(call).readOutput(from.fromReadOutput(request), call.signal)) {
          yield message(OutputDataSchema, { data: part.data, truncated: part.truncated });
        }
      },
      attach: (peer) => attachCall(by(peer.context), peer),
      async *backup(_, call) {
        for await (const { data } of by(call).backup()) yield message(BackupDataSchema, { data });
      },
      watch: new PushedFrames(WatchEventSchema, (request, call, sink) => {
        const { connection, peer, headers } = call;
        const caller = { connection, address: addressOf(peer) };
        const gzip = acceptsGzip(headers["grpc-accept-encoding"]?.toString());
        const format = watchFormat({ batches: request.batches, gzip });
        const watch = by(call).watch(from.fromWatch(request), { format, sink, caller });
        if (gzip) sink.announce("gzip");
        return watch;
      }),
      listNodes: async (request, call) =>
        fleet.toNodePage(
          await by(call).listNodes(from.fromNodeFilter(request), from.fromPage(request)),
        ),
      getNode: async ({ name }, call) => fleet.toNode(await by(call).getNode(name)),
      drainNode: async ({ name, reason, ifRevision }, call) =>
        fleet.toNode(
          await by(call).drainNode(name, reason ?? "", from.fromCondition({ ifRevision })),
        ),
      undrainNode: async ({ name, ifRevision }, call) =>
        fleet.toNode(await by(call).undrainNode(name, from.fromCondition({ ifRevision }))),
      setNode: async (request, call) =>
        fleet.toNode(await by(call).setNode(request.name, from.fromSetNode(request))),
      removeNode: async ({ name, ifRevision }, call) =>
        fleet.toNodeRemoved(await by(call).removeNode(name, from.fromCondition({ ifRevision }))),
      listClusters: async (_, call) => clusters.toClusters(await by(call).listClusters()),
      getCluster: async ({ name }, call) => clusters.toCluster(await by(call).getCluster(name)),
      registerCluster: async (request, call) =>
        clusters.toRegistered(
          await by(call).registerCluster(clusters.fromRegisterCluster(request)),
        ),
      deleteCluster: async ({ name, ifRevision }, call) =>
        clusters.toClusterDeleted(
          await by(call).deleteCluster(name, from.fromCondition({ ifRevision })),
        ),
      getClusterGraph: async ({ name }, call) =>
        clusters.toDocument(await by(call).getClusterGraph(name)),
      addSubsystem: async (request, call) =>
        clusters.toCluster(await by(call).addSubsystem(clusters.fromAddSubsystem(request))),
      removeSubsystem: async ({ cluster, name, ifRevision }, call) =>
        clusters.toSubsystemRemoved(
          await by(call).removeSubsystem({ cluster, name, ...from.fromCondition({ ifRevision }) }),
        ),
      getSubsystem: async ({ cluster, name }, call) =>
        clusters.toDocument(await by(call).getSubsystem({ cluster, name })),
      setClusterState: async (request, call) =>
        clusters.toCluster(await by(call).setClusterState(clusters.fromSetState(request))),
      listOfferedTasks: async ({ cluster, max }, call) =>
        accepted.toOffered(await by(call).listOffered(cluster, max)),
      acceptTasks: async ({ cluster, ids }, call) =>
        accepted.toAccepted(await by(call).acceptTasks(cluster, ids)),
      reportTasks: async ({ cluster, reports }, call) =>
        accepted.toReported(await by(call).reportTasks(cluster, reports.map(accepted.fromReport))),
      rotateClusterCredentials: async (request, call) =>
        clusters.toRotated(
          await by(call).rotateCredentials(request.cluster, clusters.fromRotate(request)),
        ),
      setCredentials: async (request, call) =>
        clusters.toCredentialsSet(
          await by(call).setCredentials(clusters.fromSetCredentials(request)),
        ),
      satisfy: async (request, call) =>
        clusters.toSatisfied(await by(call).satisfy(clusters.fromSatisfy(request))),
      listServices: async (request, call) =>
        services.toServicePage(await by(call).listServices(from.fromPage(request))),
      getService: async ({ name }, call) => services.toService(await by(call).getService(name)),
      applyService: async (request, call) =>
        services.toService(await by(call).applyService(services.fromApplyService(request))),
      scaleService: async ({ name, replicas, ifRevision }, call) =>
        services.toService(
          await by(call).scaleService(name, replicas, from.fromCondition({ ifRevision })),
        ),
      rollbackService: async ({ name, generation, ifRevision }, call) =>
        services.toService(
          await by(call).rollbackService(name, {
            generation,
            ...from.fromCondition({ ifRevision }),
          }),
        ),
      removeService: async ({ name, reason, ifRevision }, call) =>
        services.toService(
          await by(call).removeService(name, reason ?? "", from.fromCondition({ ifRevision })),
        ),
      listInstances: async (request, call) =>
        services.toInstancePage(
          await by(call).listInstances(request.service, from.fromPage(request)),
        ),
      getInstance: async ({ service, name }, call) =>
        services.toInstance(await by(call).getInstance(service, name)),
      addInstances: async ({ service, names }, call) =>
        services.toInstances(await by(call).addInstances(service, names)),
      removeInstances: async ({ service, names, reason }, call) =>
        services.toInstances(await by(call).removeInstances(service, names, reason ?? "")),
      listGroups: async (_, call) => fleet.toGroups(await by(call).listGroups()),
      putGroup: async (request, call) =>
        fleet.toGroup(await by(call).putGroup(from.fromPutGroup(request))),
      removeGroup: async ({ name, ifRevision }, call) =>
        fleet.toGroupRemoved(await by(call).removeGroup(name, from.fromCondition({ ifRevision }))),
      getStats: async (_, call) => fleet.toStats(await by(call).stats()),
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
};
