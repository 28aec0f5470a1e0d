import {
  ConditionQuery,
  NamePath,
  NodeBody,
  NodeQuery,
  ReasonBody,
} from "../schemas/request-schemas.ts";
import { fromQuery } from "../schemas/query.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Node, NodePage, Removed } from "../schemas/view-schemas.ts";
import { failures } from "./answers.ts";

const tags = ["nodes"];
const params = NamePath;

export function nodeRoutes(app: App): void {
  app.get(
    "/v1/nodes",
    {
      schema: {
        tags,
        operationId: "listNodes",
        summary: "List nodes",
        querystring: NodeQuery,
        response: { 200: NodePage, ...failures },
      },
    },
    ({ query, operations }) => {
      const asked = fromQuery(query);
      return operations.listNodes(asked, asked);
    },
  );

  const response = { 200: Node, ...failures };
  app.get(
    "/v1/nodes/:name",
    { schema: { tags, operationId: "getNode", summary: "Show a node", params, response } },
    (request) => request.operations.getNode(request.params.name),
  );
  app.post(
    "/v1/nodes/:name/drain",
    {
      schema: {
        tags,
        operationId: "drainNode",
        summary: "Place no new tasks on a node; running tasks continue",
        params,
        body: ReasonBody,
        response,
      },
    },
    (request) =>
      request.operations.drainNode(request.params.name, request.body.reason ?? "", request.body),
  );
  app.post(
    "/v1/nodes/:name/undrain",
    {
      schema: {
        tags,
        operationId: "undrainNode",
        summary: "Place tasks on a node again",
        params,
        querystring: ConditionQuery,
        response,
      },
    },
    (request) => request.operations.undrainNode(request.params.name, request.query),
  );
  app.patch(
    "/v1/nodes/:name",
    {
      schema: {
        tags,
        operationId: "setNode",
        summary: "Set what happens to a node's tasks when the node is lost",
        params,
        body: NodeBody,
        response,
      },
    },
    (request) => request.operations.setNode(request.params.name, request.body),
  );
  app.delete(
    "/v1/nodes/:name",
    {
      schema: {
        tags,
        operationId: "removeNode",
        summary: "Remove a node that is not connected. Its tasks are lost and placed again",
        params,
        querystring: ConditionQuery,
        response: { 200: Removed, ...failures },
      },
    },
    (request) => request.operations.removeNode(request.params.name, request.query),
  );
}
