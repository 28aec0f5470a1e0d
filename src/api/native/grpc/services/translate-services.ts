import type * as wire from "../../../../gen/busbar/v1/busbar_pb.ts";
import {
  InstanceSchema,
  InstancesResponseSchema,
  ListInstancesResponseSchema,
  ListServicesResponseSchema,
  RolloutTermsSchema,
  ServiceSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import type { ServiceInput } from "../../../../server/operations/audiences/service-operations.ts";
import type {
  InstancePage,
  InstanceView,
  ServicePage,
  ServiceRowView,
  ServiceView,
} from "../../../../server/services/service-views.ts";
import { message, wide } from "../../../grpc/calls/wire-message.ts";
import { stateOf } from "../../state-names.ts";
import { toJobSpec } from "../translate-jobs.ts";
import { fromCondition, fromJobSpec, toOptional } from "../translate.ts";

// Converts services and their instances from and to messages of the wire.

export const fromApplyService = (request: wire.ApplyServiceRequest): ServiceInput => ({
  name: request.name,
  template: request.template && fromJobSpec(request.template, "template"),
  replicas: request.replicas,
  rollout: request.rollout && {
    maxUnavailable: request.rollout.maxUnavailable,
    minReadyMs: toOptional(request.rollout.minReadyMs, "rollout.minReadyMs"),
    failuresMax: request.rollout.failuresMax,
  },
  ...fromCondition(request),
});

/** In a watch a service lacks the fields that follow from its instances. */
export const toService = (view: ServiceRowView & Partial<ServiceView>): wire.Service =>
  message(ServiceSchema, {
    name: view.name,
    template: toJobSpec(view.template),
    replicas: view.replicas,
    generation: view.generation,
    rollout: message(RolloutTermsSchema, {
      maxUnavailable: view.rollout.maxUnavailable,
      minReadyMs: wide(view.rollout.minReadyMs),
      failuresMax: view.rollout.failuresMax,
    }),
    state: view.state,
    reason: view.reason,
    instances: view.instances,
    running: view.running,
    updated: view.updated,
    ended: view.ended,
    former: [...view.former],
    createdAtMs: wide(view.createdAtMs),
    changedBy: view.changedBy,
    revision: wide(view.revision),
  });

export const toInstance = (view: InstanceView): wire.Instance =>
  message(InstanceSchema, {
    service: view.service,
    name: view.name,
    jobId: view.jobId,
    state: stateOf[view.state],
    generation: view.generation,
    wantedGeneration: view.wantedGeneration,
    named: view.named,
    removing: view.removing,
    node: view.node,
    startedAtMs: wide(view.startedAtMs),
    restarts: view.restarts,
    reason: view.reason,
  });

export const toServicePage = (page: ServicePage): wire.ListServicesResponse =>
  message(ListServicesResponseSchema, {
    services: page.services.map(toService),
    nextPageToken: page.nextPageToken,
    revision: wide(page.revision),
  });

export const toInstancePage = (page: InstancePage): wire.ListInstancesResponse =>
  message(ListInstancesResponseSchema, {
    instances: page.instances.map(toInstance),
    nextPageToken: page.nextPageToken,
    revision: wide(page.revision),
  });

export const toInstances = ({ instances, revision }: InstancePage): wire.InstancesResponse =>
  message(InstancesResponseSchema, {
    instances: instances.map(toInstance),
    revision: wide(revision),
  });
