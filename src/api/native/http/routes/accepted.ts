import { Type } from "typebox";
import { limits } from "../../../../limits.ts";
import { NamePath } from "../schemas/request-schemas.ts";
import {
  flag,
  list,
  named,
  object,
  oneOf,
  optional,
  text,
  timeMs,
  whole,
} from "../schemas/schema.ts";
import type { App } from "../schemas/typebox-provider.ts";
import { JobSpec } from "../schemas/view-schemas.ts";
import { failures } from "./answers.ts";

const tags = ["clusters"];
const params = NamePath;
const revision = () => whole("Number of the latest change when this was answered");
const ids = (description: string) =>
  list(Type.String(), { description, maxItems: limits.offeredPageMax });

const Offered = object({
  tasks: list(
    object({
      id: text("Id: 17, or 17.3 in an array"),
      attempt: whole("Number of the attempt, from 1"),
      spec: named(JobSpec),
      offeredAtMs: timeMs("Since when"),
    }),
  ),
  total: whole("How many there are"),
  revision: revision(),
});

const Accepted = object({
  accepted: ids("Those that the cluster has now"),
  refused: list(object({ id: text("Id"), reason: text("Why it was not to be had") })),
  revision: revision(),
});

const report = object({
  id: text("Id: 17, or 17.3 in an array"),
  attempt: optional(whole("Which it speaks of; absent: the one the cluster has")),
  state: oneOf(
    ["running", "succeeded", "failed", "returned"],
    "What became of it; returned: the cluster will not run it",
  ),
  startedAtMs: optional(timeMs("When it started; absent: now, or not known")),
  endedAtMs: optional(timeMs("When it ended; absent: now")),
  exitCode: optional(whole("Of what failed; absent: 1")),
  signal: optional(text("Of what failed: that ended it, like SIGKILL")),
  isTimeLimit: optional(flag("Of what failed: it ran longer than its time limit")),
  stdout: optional(text("Of what ended: the end of it is kept")),
  stderr: optional(text("Of what ended: the end of it is kept")),
});

/** How clusters that pull take tasks to run them by themselves, and tell of them. */
export function handedRoutes(app: App): void {
  app.get(
    "/v1/clusters/:name/offered",
    {
      schema: {
        tags,
        operationId: "listOfferedTasks",
        summary: "List tasks that wait for the cluster to take them, oldest first",
        params,
        querystring: object({ max: optional(whole("At most so many; absent: 100")) }),
        response: { 200: Offered, ...failures },
      },
    },
    ({ params: { name }, query: { max }, operations }) => operations.listOffered(name, max),
  );
  app.post(
    "/v1/clusters/:name/accept",
    {
      schema: {
        tags,
        operationId: "acceptTasks",
        summary: "Take tasks for the cluster, which runs them by itself; each has one taker",
        params,
        body: object({ ids: ids("Tasks that are offered to it") }),
        response: { 200: Accepted, ...failures },
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
        summary: "Tell what became of tasks that the cluster took",
        params,
        body: object({ reports: list(report, { maxItems: limits.offeredPageMax }) }),
        response: {
          200: object({
            unwanted: ids("Told to be running, and to be stopped: nobody wants them any more"),
            revision: revision(),
          }),
          ...failures,
        },
      },
    },
    ({ params: { name }, body, operations }) => operations.reportTasks(name, body.reports),
  );
}
