import type * as wire from "../../../gen/busbar/v1/busbar_pb.ts";
import { ClusterSchema, ListClustersResponseSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import type * as asked from "../../../gen/busbar/v1/cluster_pb.ts";
import {
  ClusterAnswerSchema,
  CredentialTimesSchema,
  DeleteClusterResponseSchema,
  DroppedClusterSchema,
  GraphDocumentSchema,
  IssuedCredentialsSchema,
  RemoveSubsystemResponseSchema,
  RotateClusterCredentialsResponseSchema,
  SatisfyResponseSchema,
  SelectionAnswerSchema,
  SetCredentialsResponseSchema,
  StateCounterSchema,
  StateEntrySchema,
  SubsystemSummarySchema,
  TaskAnswerSchema,
} from "../../../gen/busbar/v1/cluster_pb.ts";
import { invalid } from "../../../lib/errors.ts";
import type {
  ClusterInput,
  ClusterStateInput,
  CredentialsInput,
  SatisfyQuery,
  SubsystemInput,
} from "../../../server/operations/operations.ts";
import type * as satisfy from "../../../server/views/satisfy-view.ts";
import type * as views from "../../../server/views/views.ts";
import { fromCondition } from "./translate.ts";
import { fromJson, fromValues, toValue } from "./translate-values.ts";
import { message, wide } from "../../grpc/calls/wire-message.ts";

// Converts requests and answers about clusters from and to messages of the wire.

interface At {
  readonly revision: number;
}

export const fromRegisterCluster = (request: asked.RegisterClusterRequest): ClusterInput => ({
  name: request.name,
  graph: request.graph,
  isUpdate: request.update,
  withCredentials: request.withCredentials,
  ...fromCondition(request),
});

/** Neither flag means both. */
export const fromRotate = ({ secret, token }: Rotated): Rotated => ({
  secret: secret || !token,
  token: token || !secret,
});

type Rotated = { readonly secret: boolean; readonly token: boolean };

export const fromSetCredentials = (request: asked.SetCredentialsRequest): CredentialsInput => ({
  registerSecret: request.registerSecret,
  clusters: request.clusters.map(({ name, secret, token }) => ({ name, secret, token })),
});

export const fromAddSubsystem = (request: asked.AddSubsystemRequest): SubsystemInput => ({
  cluster: request.cluster,
  name: request.name,
  document: request.graph,
  ...fromCondition(request),
});

export const fromSetState = (request: asked.SetClusterStateRequest): ClusterStateInput => ({
  cluster: request.cluster,
  values: fromValues(request.values, "values"),
  remove: request.remove,
  counters: request.counters?.counters.map(({ key, by }) => ({ key, by })),
  ...fromCondition(request),
});

export function fromSatisfy({ ask, selection }: asked.SatisfyRequest): SatisfyQuery {
  if (ask.case === undefined) throw invalid("ask", "needs a jobspec or a request");
  return {
    ask:
      ask.case === "jobspec"
        ? { kind: "jobspec", jobspec: ask.value }
        : { kind: "request", request: fromJson(ask.value, "request") },
    selection: selection && {
      strategy: selection.strategy,
      options: selection.options && fromJson(selection.options, "selection.options"),
      parameters: fromValues(selection.parameters, "selection.parameters"),
    },
  };
}

/** In a watch a cluster lacks the fields that follow from its nodes, tasks and graph. */
export const toCluster = (
  view: views.ClusterRowView & Partial<views.ClusterView>,
  issued?: views.IssuedCredentialsView,
): wire.Cluster =>
  message(ClusterSchema, {
    name: view.name,
    nodes: view.nodes ?? 0,
    nodesConnected: view.nodesConnected ?? 0,
    capacity: { ...view.capacity },
    used: { ...view.used },
    tasks: view.tasks ?? 0,
    kind: view.kind,
    createdAtMs: wide(view.createdAtMs),
    registeredBy: view.registeredBy,
    changedBy: view.changedBy,
    stateChangedBy: view.stateChangedBy,
    vertices: { ...view.vertices },
    subsystems: (view.subsystems ?? []).map(({ name, vertices, links }) =>
      message(SubsystemSummarySchema, { name, vertices: wide(vertices), links: wide(links) }),
    ),
    state: view.state.map(({ key, value, setAtMs }) =>
      message(StateEntrySchema, { key, value: toValue(value), setAtMs: wide(setAtMs) }),
    ),
    counters: view.counters.map(({ key, by }) => message(StateCounterSchema, { key, by })),
    credentials: view.credentials && toTimes(view.credentials),
    issued: issued && toIssued(issued),
    revision: wide(view.revision),
  });

const toTimes = (view: views.CredentialTimesView): asked.CredentialTimes =>
  message(CredentialTimesSchema, {
    secretSinceMs: wide(view.secretSinceMs),
    tokenSinceMs: wide(view.tokenSinceMs),
  });

const toIssued = ({ secret, token }: views.IssuedCredentialsView): asked.IssuedCredentials =>
  message(IssuedCredentialsSchema, { secret, token });

export const toRegistered = (answer: {
  readonly cluster: views.ClusterView;
  readonly credentials?: views.IssuedCredentialsView;
}): wire.Cluster => toCluster(answer.cluster, answer.credentials);

export const toRotated = (
  answer: At & { readonly credentials: views.IssuedCredentialsView },
): asked.RotateClusterCredentialsResponse =>
  message(RotateClusterCredentialsResponseSchema, {
    issued: toIssued(answer.credentials),
    revision: wide(answer.revision),
  });

export const toCredentialsSet = (answer: At): asked.SetCredentialsResponse =>
  message(SetCredentialsResponseSchema, { revision: wide(answer.revision) });

export const toClusters = (
  answer: At & { readonly clusters: readonly views.ClusterView[] },
): wire.ListClustersResponse =>
  message(ListClustersResponseSchema, {
    clusters: answer.clusters.map((view) => toCluster(view)),
    revision: wide(answer.revision),
  });

/** A document or its text. */
export const toDocument = (graph: string): asked.GraphDocument =>
  message(GraphDocumentSchema, { graph });

export const toClusterDeleted = (answer: At): asked.DeleteClusterResponse =>
  message(DeleteClusterResponseSchema, { revision: wide(answer.revision) });

export const toSubsystemRemoved = (answer: At): asked.RemoveSubsystemResponse =>
  message(RemoveSubsystemResponseSchema, { revision: wide(answer.revision) });

export const toSatisfied = (view: satisfy.SatisfyView): asked.SatisfyResponse =>
  message(SatisfyResponseSchema, {
    ever: [...view.ever],
    now: [...view.now],
    tasks: view.tasks.map(({ name, clusters }) =>
      message(TaskAnswerSchema, { name, clusters: clusters.map(toAnswer) }),
    ),
    selection: view.selection && toSelection(view.selection),
    revision: wide(view.revision),
    oneAfterOther: [...view.oneAfterOther],
  });

const toAnswer = (view: satisfy.ClusterAnswerView): asked.ClusterAnswer =>
  message(ClusterAnswerSchema, {
    cluster: view.cluster,
    kind: view.kind,
    ever: view.ever,
    now: view.now,
    slots: wide(view.slots),
    alternative: view.alternative,
    reasons: [...view.reasons],
  });

const toSelection = (view: satisfy.SelectionView): asked.SelectionAnswer =>
  message(SelectionAnswerSchema, {
    strategy: view.strategy,
    chosen: view.chosen,
    ranked: [...view.ranked],
    dropped: view.dropped.map(({ name, reason }) =>
      message(DroppedClusterSchema, { name, reason }),
    ),
  });
