import type * as wire from "../../../gen/busbar/v1/busbar_pb.ts";
import {
  AcceptTasksResponseSchema,
  ListOfferedTasksResponseSchema,
  OfferedTaskSchema,
  RefusedTaskSchema,
  ReportTasksResponseSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import type { Operations, TaskReportInput } from "../../../server/operations/operations.ts";
import { toJobSpec } from "./translate-jobs.ts";
import { toOptional } from "./translate.ts";
import { message, wide } from "../../grpc/calls/wire-message.ts";

// Converts requests of pull clusters about tasks, and their answers, from and to messages of the wire.

type Answer<Name extends "listOffered" | "acceptTasks" | "reportTasks"> = Awaited<
  ReturnType<Operations[Name]>
>;

export const toOffered = ({ tasks, total, revision }: Answer<"listOffered">) =>
  message(ListOfferedTasksResponseSchema, {
    tasks: tasks.map(({ id, attempt, spec, offeredAtMs }) =>
      message(OfferedTaskSchema, {
        id,
        attempt,
        spec: toJobSpec(spec),
        offeredAtMs: wide(offeredAtMs),
      }),
    ),
    total: wide(total),
    revision: wide(revision),
  });

export const toAccepted = ({ accepted, refused, revision }: Answer<"acceptTasks">) =>
  message(AcceptTasksResponseSchema, {
    accepted: [...accepted],
    refused: refused.map((one) => message(RefusedTaskSchema, one)),
    revision: wide(revision),
  });

export const toReported = ({ unwanted, revision }: Answer<"reportTasks">) =>
  message(ReportTasksResponseSchema, { unwanted: [...unwanted], revision: wide(revision) });

export const fromReport = (report: wire.TaskReport): TaskReportInput => ({
  id: report.id,
  attempt: report.attempt,
  state: report.state,
  startedAtMs: toOptional(report.startedAtMs, "reports.startedAtMs"),
  endedAtMs: toOptional(report.endedAtMs, "reports.endedAtMs"),
  exitCode: report.exitCode,
  signal: report.signal,
  timeLimit: report.timeLimit,
  stdout: report.stdout,
  stderr: report.stderr,
  percent: report.percent,
  message: report.message,
});
