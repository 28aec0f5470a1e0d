import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError, withoutFieldPrefix } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { JsonOf } from "../../../wire/json-shape.ts";
import * as clusters from "../grpc/translate-clusters.ts";
import * as services from "../grpc/services/translate-services.ts";
import * as accepted from "../grpc/translate-accepted.ts";
import * as from from "../grpc/translate.ts";

type Methods = typeof Busbar.method;
type Unary = {
  [Name in keyof Methods]: Methods[Name]["methodKind"] extends "unary" ? Name : never;
}[keyof Methods];

type Run<Input extends DescMessage, Output extends DescMessage> = (
  operations: Operations,
  request: MessageShape<Input>,
) => Promise<JsonOf<MessageShape<Output>>>;

/** How to call a method. `cost` is the cost of one call, in shown fields. */
export interface Call<Input extends DescMessage, Output extends DescMessage> {
  readonly kind: "query" | "mutation";
  readonly cost: number;
  readonly run: Run<Input, Output>;
}

const read = <Input extends DescMessage, Output extends DescMessage>(
  cost: number,
  run: Run<Input, Output>,
): Call<Input, Output> => ({ kind: "query", cost, run });
const change = <Input extends DescMessage, Output extends DescMessage>(
  run: Run<Input, Output>,
): Call<Input, Output> => ({ kind: "mutation", cost: CHANGE_COST, run });

const GET_COST = 5;
const LIST_COST = 20;
const CHANGE_COST = 50;
/** It may read all nodes and clusters. */
const SEARCH_COST = 200;
/** The document may have megabytes. */
const DOCUMENT_COST = 2_000;

/** Graphs of clusters may have many megabytes, which this thread does not parse. */
function documentOf(text: string): { readonly graph: unknown } {
  if (text.length <= limits.graphInlineBytesMax) return { graph: JSON.parse(text) as unknown };
  const problem = `it has ${text.length} characters, more than GraphQL shows; read it from /v1/clusters`;
  throw new AppError("exhausted", problem, { field: "graph" });
}

/** The fields of an inlined filter become separate arguments. */
const atTop = <T>(inner: string, answer: () => Promise<T>): Promise<T> =>
  Promise.try(answer).catch((error: unknown) => {
    throw withoutFieldPrefix(error, `${inner}.`);
  });

/** Every unary method of busbar.v1.Busbar is one of `operations`. Exhaustive by type. */
export const METHODS: {
  readonly [Name in Unary]: Call<Methods[Name]["input"], Methods[Name]["output"]>;
} = {
  submitJobs: change((operations, { jobs, allowUnsatisfiable }) =>
    operations.submitJobs(jobs.map(from.fromSubmission), { allowUnsatisfiable }),
  ),
  submitJobspec: change((operations, request) =>
    operations.submitJobspec(from.fromJobspec(request)),
  ),
  tryJobs: read(SEARCH_COST, (operations, request) => operations.tryJobs(from.fromTry(request))),
  getJob: read(GET_COST, (operations, { id }) => operations.getJob(id)),
  listJobs: read(LIST_COST, (operations, request) =>
    atTop("filter", async () =>
      operations.listJobs(from.fromJobFilter(request.filter), from.fromJobPage(request)),
    ),
  ),
  countJobs: read(GET_COST, (operations, { group }) => operations.countJobs(group)),
  listTasks: read(LIST_COST, async (operations, request) =>
    operations.listTasks(request.jobId, from.fromTaskStates(request), from.fromPage(request)),
  ),
  getTask: read(GET_COST, (operations, { id }) => operations.getTask(id)),
  cancelJob: change((operations, { id, reason, ifRevision }) =>
    operations.cancelJob(id, reason ?? "", from.fromCondition({ ifRevision })),
  ),
  holdJob: change((operations, { id, reason, ifRevision }) =>
    operations.holdJob(id, reason ?? "", from.fromCondition({ ifRevision })),
  ),
  releaseJob: change((operations, { id, ifRevision }) =>
    operations.releaseJob(id, from.fromCondition({ ifRevision })),
  ),
  requeueJob: change((operations, { id, reason, ifRevision }) =>
    operations.requeueJob(id, reason ?? "", from.fromCondition({ ifRevision })),
  ),
  updateJob: change((operations, request) =>
    operations.updateJob(request.id, from.fromUpdateJob(request)),
  ),
  rerunJob: change((operations, request) =>
    operations.rerunJob(request.id, from.fromRerunJob(request)),
  ),
  reportProgress: change((operations, { id, percent, message, attempt }) =>
    operations.reportProgress(id, { percent, message, attempt }),
  ),
  explainJob: read(SEARCH_COST, (operations, { id }) => operations.explainJob(id)),
  listNodes: read(LIST_COST, async (operations, request) =>
    operations.listNodes(from.fromNodeFilter(request), from.fromPage(request)),
  ),
  getNode: read(GET_COST, (operations, { name }) => operations.getNode(name)),
  drainNode: change((operations, { name, reason, ifRevision }) =>
    operations.drainNode(name, reason ?? "", from.fromCondition({ ifRevision })),
  ),
  undrainNode: change((operations, { name, ifRevision }) =>
    operations.undrainNode(name, from.fromCondition({ ifRevision })),
  ),
  setNode: change((operations, request) =>
    operations.setNode(request.name, from.fromSetNode(request)),
  ),
  removeNode: change((operations, { name, ifRevision }) =>
    operations.removeNode(name, from.fromCondition({ ifRevision })),
  ),
  listClusters: read(LIST_COST, (operations) => operations.listClusters()),
  getCluster: read(GET_COST, (operations, { name }) => operations.getCluster(name)),
  registerCluster: change(async (operations, request) => {
    const answer = await operations.registerCluster(clusters.fromRegisterCluster(request));
    const { credentials } = answer;
    return { ...answer.cluster, ...(credentials !== undefined && { issued: credentials }) };
  }),
  deleteCluster: change((operations, { name, ifRevision }) =>
    operations.deleteCluster(name, from.fromCondition({ ifRevision })),
  ),
  getClusterGraph: read(DOCUMENT_COST, async (operations, { name }) =>
    documentOf(await operations.getClusterGraph(name)),
  ),
  addSubsystem: change((operations, request) =>
    operations.addSubsystem(clusters.fromAddSubsystem(request)),
  ),
  removeSubsystem: change((operations, { cluster, name, ifRevision }) =>
    operations.removeSubsystem({ cluster, name, ...from.fromCondition({ ifRevision }) }),
  ),
  getSubsystem: read(DOCUMENT_COST, async (operations, { cluster, name }) =>
    documentOf(await operations.getSubsystem({ cluster, name })),
  ),
  setClusterState: change((operations, request) =>
    operations.setClusterState(clusters.fromSetState(request)),
  ),
  listOfferedTasks: read(LIST_COST, (operations, { cluster, max }) =>
    operations.listOffered(cluster, max),
  ),
  acceptTasks: change((operations, { cluster, ids }) => operations.acceptTasks(cluster, ids)),
  reportTasks: change((operations, { cluster, reports }) =>
    operations.reportTasks(cluster, reports.map(accepted.fromReport)),
  ),
  rotateClusterCredentials: change(async (operations, request) => {
    const which = clusters.fromRotate(request);
    const answer = await operations.rotateCredentials(request.cluster, which);
    return { issued: answer.credentials, revision: answer.revision };
  }),
  setCredentials: change((operations, request) =>
    operations.setCredentials(clusters.fromSetCredentials(request)),
  ),
  satisfy: read(SEARCH_COST, (operations, request) =>
    Promise.try(() => operations.satisfy(clusters.fromSatisfy(request))),
  ),
  listServices: read(LIST_COST, (operations, request) =>
    operations.listServices(from.fromPage(request)),
  ),
  getService: read(GET_COST, (operations, { name }) => operations.getService(name)),
  applyService: change(async (operations, request) =>
    operations.applyService(services.fromApplyService(request)),
  ),
  scaleService: change((operations, { name, replicas, ifRevision }) =>
    operations.scaleService(name, replicas, from.fromCondition({ ifRevision })),
  ),
  rollbackService: change((operations, { name, generation, ifRevision }) =>
    operations.rollbackService(name, { generation, ...from.fromCondition({ ifRevision }) }),
  ),
  removeService: change((operations, { name, reason, ifRevision }) =>
    operations.removeService(name, reason ?? "", from.fromCondition({ ifRevision })),
  ),
  listInstances: read(LIST_COST, (operations, request) =>
    operations.listInstances(request.service, from.fromPage(request)),
  ),
  getInstance: read(GET_COST, (operations, { service, name }) =>
    operations.getInstance(service, name),
  ),
  addInstances: change((operations, { service, names }) => operations.addInstances(service, names)),
  removeInstances: change((operations, { service, names, reason }) =>
    operations.removeInstances(service, names, reason ?? ""),
  ),
  listGroups: read(LIST_COST, (operations) => operations.listGroups()),
  putGroup: change((operations, request) => operations.putGroup(from.fromPutGroup(request))),
  removeGroup: change((operations, { name, ifRevision }) =>
    operations.removeGroup(name, from.fromCondition({ ifRevision })),
  ),
  getStats: read(GET_COST, (operations) => operations.stats()),
};
