import { ConditionQuery, GroupBody, NamePath } from "../schemas/request-schemas.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { Group, Groups, Removed } from "../schemas/view-schemas.ts";
import { failures } from "./answers.ts";

const tags = ["groups"];
const params = NamePath;

export function groupRoutes(app: App): void {
  app.get(
    "/v1/groups",
    {
      schema: {
        tags,
        operationId: "listGroups",
        summary: "List groups",
        response: { 200: Groups, ...failures },
      },
    },
    ({ operations }) => operations.listGroups(),
  );
  app.put(
    "/v1/groups/:name",
    {
      schema: {
        tags,
        operationId: "putGroup",
        summary: "Create a group, or change the given fields",
        params,
        body: GroupBody,
        response: { 200: Group, ...failures },
      },
    },
    (request) => request.operations.putGroup({ ...request.body, name: request.params.name }),
  );
  app.delete(
    "/v1/groups/:name",
    {
      schema: {
        tags,
        operationId: "removeGroup",
        summary: "Remove a group that has no jobs",
        params,
        querystring: ConditionQuery,
        response: { 200: Removed, ...failures },
      },
    },
    (request) => request.operations.removeGroup(request.params.name, request.query),
  );
}
