import {
  AcceptTasksRequestSchema,
  AcceptTasksResponseSchema,
  ListOfferedTasksResponseSchema,
  ReportTasksRequestSchema,
  ReportTasksResponseSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import type { OfferedTaskView } from "../../../../server/views/views.ts";
import { message, requestBody } from "../schemas/derived.ts";
import { NamePath, OfferedQuery } from "../schemas/request-schemas.ts";
import { fromQuery } from "../schemas/query.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { failures, failures422 } from "./answers.ts";

const tags = ["clusters"];
const params = NamePath;
const Offered = message(ListOfferedTasksResponseSchema);
const AcceptBody = requestBody(AcceptTasksRequestSchema, "cluster");
const Accepted = message(AcceptTasksResponseSchema);
const ReportBody = requestBody(ReportTasksRequestSchema, "cluster");
const Reported = message(ReportTasksResponseSchema);

/** Without the parts of the spec that the view also has separately. */
const publicFields = ({ id, attempt, spec, offeredAtMs }: OfferedTaskView) => ({
  id,
  attempt,
  spec,
  offeredAtMs,
});

/** Routes by which pull clusters accept tasks and report them. */
export function acceptedRoutes(app: App): void {
  app.get(
    "/v1/clusters/:name/offered",
    {
      schema: {
        tags,
        operationId: "listOfferedTasks",
        summary: "List tasks that are offered to a cluster, oldest first",
        params,
        querystring: OfferedQuery,
        response: { 200: Offered, ...failures },
      },
    },
    async ({ params: { name }, query, operations }) => {
      const { tasks, ...rest } = await operations.listOffered(name, fromQuery(query).max);
      return { tasks: tasks.map(publicFields), ...rest };
    },
  );
  app.post(
    "/v1/clusters/:name/accept",
    {
      schema: {
        tags,
        operationId: "acceptTasks",
        summary:
          "Accept tasks for the cluster, which runs them by itself; only one caller gets a task",
        params,
        body: AcceptBody,
        response: { 200: Accepted, ...failures422, ...failures },
      },
    },
    ({ params: { name }, body, operations }) => operations.acceptTasks(name, body.ids),
  );
  app.post(
    "/v1/clusters/:name/reports",
    {
      schema: {
        tags,
        operationId: "reportTasks",
        summary: "Report the states of tasks that the cluster accepted",
        params,
        body: ReportBody,
        response: { 200: Reported, ...failures422, ...failures },
      },
    },
    ({ params: { name }, body, operations }) => operations.reportTasks(name, body.reports),
  );
}
