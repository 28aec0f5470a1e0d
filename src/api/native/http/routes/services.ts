import { fromQuery } from "../schemas/query.ts";
import {
  ApplyBody,
  InstancePath,
  InstanceQuery,
  NamePath,
  NamesBody,
  ReasonQuery,
  RollbackBody,
  ScaleBody,
  ServiceQuery,
} from "../schemas/service-schemas.ts";
import type { App } from "../schemas/typebox-provider.ts";
import {
  Instance,
  InstancePage,
  Instances,
  Service,
  ServicePage,
} from "../schemas/view-schemas.ts";
import { fromTemplate } from "../translate.ts";
import { failures, failures422 } from "./answers.ts";

const tags = ["services"];
const params = NamePath;
const response = { 200: Service, ...failures };
const applied = { 200: Service, ...failures422, ...failures };

export function serviceRoutes(app: App): void {
  app.get(
    "/v1/services",
    {
      schema: {
        tags,
        operationId: "listServices",
        summary: "List services",
        querystring: ServiceQuery,
        response: { 200: ServicePage, ...failures },
      },
    },
    ({ query, operations }) => operations.listServices(fromQuery(query)),
  );
  app.get(
    "/v1/services/:name",
    { schema: { tags, operationId: "getService", summary: "Show a service", params, response } },
    (request) => request.operations.getService(request.params.name),
  );
  app.put(
    "/v1/services/:name",
    {
      schema: {
        tags,
        operationId: "applyService",
        summary: "Create a service, or change the given fields; a changed template is rolled out",
        params,
        body: ApplyBody,
        response: applied,
      },
    },
    ({ operations, body, params: { name } }) => {
      const { template, ...rest } = body;
      const given = template && { template: fromTemplate(template) };
      return operations.applyService({ ...rest, ...given, name });
    },
  );
  app.post(
    "/v1/services/:name/scale",
    {
      schema: {
        tags,
        operationId: "scaleService",
        summary: "Set the number of instances",
        params,
        body: ScaleBody,
        response,
      },
    },
    ({ operations, body, params: { name } }) => operations.scaleService(name, body.replicas, body),
  );
  app.post(
    "/v1/services/:name/rollback",
    {
      schema: {
        tags,
        operationId: "rollbackService",
        summary: "Roll back to an earlier template",
        params,
        body: RollbackBody,
        response,
      },
    },
    ({ operations, body, params: { name } }) => operations.rollbackService(name, body),
  );
  app.delete(
    "/v1/services/:name",
    {
      schema: {
        tags,
        operationId: "removeService",
        summary: "End all instances of a service; it is removed with the last of them",
        params,
        querystring: ReasonQuery,
        response,
      },
    },
    ({ operations, query, params: { name } }) =>
      operations.removeService(name, query.reason ?? "", query),
  );
  instanceRoutes(app);
}

function instanceRoutes(app: App): void {
  app.get(
    "/v1/services/:name/instances",
    {
      schema: {
        tags,
        operationId: "listInstances",
        summary: "List the instances of a service",
        params,
        querystring: InstanceQuery,
        response: { 200: InstancePage, ...failures },
      },
    },
    (request) => request.operations.listInstances(request.params.name, fromQuery(request.query)),
  );
  app.post(
    "/v1/services/:name/instances",
    {
      schema: {
        tags,
        operationId: "addInstances",
        summary: "Add named instances, beside the counted ones",
        params,
        body: NamesBody,
        response: { 200: Instances, ...failures },
      },
    },
    (request) => request.operations.addInstances(request.params.name, request.body.names),
  );
  app.get(
    "/v1/services/:name/instances/:instance",
    {
      schema: {
        tags,
        operationId: "getInstance",
        summary: "Show an instance of a service",
        params: InstancePath,
        response: { 200: Instance, ...failures },
      },
    },
    ({ operations, params: { name, instance } }) => operations.getInstance(name, instance),
  );
  app.delete(
    "/v1/services/:name/instances/:instance",
    {
      schema: {
        tags,
        operationId: "removeInstance",
        summary: "End an instance by name; a counted one is replaced by another",
        params: InstancePath,
        querystring: ReasonQuery,
        response: { 200: Instances, ...failures },
      },
    },
    ({ operations, query, params: { name, instance } }) =>
      operations.removeInstances(name, [instance], query.reason ?? ""),
  );
}
