import { invalid } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { SatisfyQuery } from "../../../../server/operations/operations.ts";
import { wholeDocument } from "../../../../server/readers/read-document.ts";
import {
  Cluster,
  Clusters,
  CountersBody,
  DocumentBody,
  GraphText,
  RegisterBody,
  Satisfied,
  SatisfyBody,
  StateBody,
  SubsystemPath,
} from "../schemas/cluster-schemas.ts";
import { credentialRoutes } from "./credentials.ts";
import { jobspecOf, REGISTER_PATH, SUBSYSTEM_PATH } from "../guards/json-body.ts";
import { ConditionQuery, NamePath } from "../schemas/request-schemas.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Removed } from "../schemas/view-schemas.ts";
import { failures, failures422 } from "./answers.ts";
import { acceptedRoutes } from "./accepted.ts";

const tags = ["clusters"];
const params = NamePath;
const bodyLimit = limits.documentBytesMax;
const cluster = { 200: Cluster, ...failures };
const removed = { 200: Removed, ...failures };
const graphText = { 200: GraphText, ...failures };

export function clusterRoutes(app: App): void {
  app.get(
    "/v1/clusters",
    {
      schema: {
        tags,
        operationId: "listClusters",
        summary: "List clusters",
        response: { 200: Clusters, ...failures },
      },
    },
    ({ operations }) => operations.listClusters(),
  );
  app.post(
    REGISTER_PATH,
    {
      bodyLimit,
      schema: {
        tags,
        operationId: "registerCluster",
        summary: "Register a pull cluster with a graph of its resources",
        body: RegisterBody,
        response: { 200: Cluster, 201: Cluster, ...failures422, ...failures },
      },
    },
    async ({ body, operations }, reply) => {
      const { name, graph, update = false, withCredentials = false, ifRevision } = body;
      const input = {
        name,
        graph: wholeDocument(graph as Readonly<Record<string, unknown>>),
        isUpdate: update,
        withCredentials,
        ifRevision,
      };
      const answer = await operations.registerCluster(input);
      reply.code(update ? 200 : 201).header("location", `/v1/clusters/${answer.cluster.name}`);
      if (answer.credentials === undefined) return answer.cluster;
      reply.header("cache-control", "no-store");
      return { ...answer.cluster, issued: answer.credentials };
    },
  );
  app.get(
    "/v1/clusters/:name",
    {
      schema: {
        tags,
        operationId: "getCluster",
        summary: "Show a cluster",
        params,
        response: cluster,
      },
    },
    (request) => request.operations.getCluster(request.params.name),
  );
  app.delete(
    "/v1/clusters/:name",
    {
      schema: {
        tags,
        operationId: "deleteCluster",
        summary:
          "Delete a cluster with its graph, state and credentials; a managed cluster must have no nodes left",
        params,
        querystring: ConditionQuery,
        response: removed,
      },
    },
    (request) => request.operations.deleteCluster(request.params.name, request.query),
  );
  app.get(
    "/v1/clusters/:name/graph",
    {
      schema: {
        tags,
        operationId: "getClusterGraph",
        summary: "Show the graph of a cluster",
        params,
        response: graphText,
      },
    },
    async (request, reply) => {
      reply.type("application/json; charset=utf-8");
      return request.operations.getClusterGraph(request.params.name);
    },
  );
  subsystemRoutes(app);
  stateRoutes(app);
  acceptedRoutes(app);
  credentialRoutes(app);
  satisfyRoute(app);
}

function subsystemRoutes(app: App): void {
  const path = SUBSYSTEM_PATH;
  const which = ({ name, subsystem }: { readonly name: string; readonly subsystem: string }) => ({
    cluster: name,
    name: subsystem,
  });
  app.put(
    path,
    {
      bodyLimit,
      schema: {
        tags,
        operationId: "addSubsystem",
        summary: "Add a subsystem to a cluster's graph, or replace it",
        params: SubsystemPath,
        querystring: ConditionQuery,
        body: DocumentBody,
        response: { ...failures422, ...cluster },
      },
    },
    (request) =>
      request.operations.addSubsystem({
        ...which(request.params),
        ...request.query,
        document: request.body,
      }),
  );
  app.get(
    path,
    {
      schema: {
        tags,
        operationId: "getSubsystem",
        summary: "Show a subsystem",
        params: SubsystemPath,
        response: graphText,
      },
    },
    async (request, reply) => {
      reply.type("application/json; charset=utf-8");
      return request.operations.getSubsystem(which(request.params));
    },
  );
  app.delete(
    path,
    {
      schema: {
        tags,
        operationId: "removeSubsystem",
        summary: "Remove a subsystem with its links",
        params: SubsystemPath,
        querystring: ConditionQuery,
        response: removed,
      },
    },
    (request) => request.operations.removeSubsystem({ ...which(request.params), ...request.query }),
  );
}

function stateRoutes(app: App): void {
  app.patch(
    "/v1/clusters/:name/state",
    {
      schema: {
        tags,
        operationId: "setClusterState",
        summary: "Set keys of a cluster's state; other keys stay",
        params,
        querystring: ConditionQuery,
        body: StateBody,
        response: cluster,
      },
    },
    ({ params: { name }, query, body, operations }) =>
      operations.setClusterState({ cluster: name, values: body, ...query }),
  );
  app.put(
    "/v1/clusters/:name/counters",
    {
      schema: {
        tags,
        operationId: "setClusterCounters",
        summary: "Set which keys of a cluster's state are lowered as jobs are assigned",
        params,
        querystring: ConditionQuery,
        body: CountersBody,
        response: cluster,
      },
    },
    ({ params: { name }, query, body, operations }) =>
      operations.setClusterState({
        cluster: name,
        values: {},
        counters: body.counters,
        ...query,
      }),
  );
}

function satisfyRoute(app: App): void {
  app.post(
    "/v1/satisfy",
    {
      schema: {
        tags,
        operationId: "satisfy",
        summary: "Show which clusters can run a jobspec, and why others cannot",
        body: SatisfyBody,
        response: { 200: Satisfied, ...failures422, ...failures },
      },
    },
    ({ body, operations }) => operations.satisfy({ ask: askOf(body), selection: body.selection }),
  );
}

function askOf(body: {
  readonly jobspec?: string;
  readonly request?: unknown;
}): SatisfyQuery["ask"] {
  const { request } = body;
  const jobspec = jobspecOf(body);
  if ((jobspec === undefined) === (request === undefined)) {
    throw invalid("jobspec", "give either a jobspec or a request");
  }
  return jobspec === undefined ? { kind: "request", request } : { kind: "jobspec", jobspec };
}
