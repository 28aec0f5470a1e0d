import type { Task } from "../../gen/goschedule/v1/scheduler_pb.ts";
import { invalid, withField } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { SubmissionInput } from "../../server/operations/operations.ts";
import { encodeList, encodeTask, bytesInList } from "./encode.ts";
import type { GoScheduleOperations } from "./operations.ts";

type Asked = Pick<Task, "cmd" | "parameters">;

/**
 * Accepts all tasks or none, one job each, and answers with a TaskList in the same order. Accepts them even while no worker is connected:
 * schedctl cannot retry later.
 */
export async function schedule(
  operations: Pick<GoScheduleOperations, "submitJobs">,
  tasks: readonly Asked[],
  { timeLimitMs }: { readonly timeLimitMs?: number | undefined },
): Promise<Buffer> {
  if (tasks.length === 0) return Buffer.alloc(0);
  const { submitJobsMax: max } = limits;
  if (tasks.length > max) {
    throw invalid("tasks", `at most ${max} in one call, not ${tasks.length}; split the file`);
  }
  const jobs = tasks.map((task, at) => toSubmission(task, at, timeLimitMs));
  const options = { allowUnsatisfiable: true };
  const { jobs: taken } = await operations.submitJobs(jobs, options).catch(asTheyCallIt);
  return answer(
    tasks,
    taken.map(({ id }) => id),
  );
}

function toSubmission(
  { cmd, parameters }: Asked,
  at: number,
  timeLimitMs: number | undefined,
): SubmissionInput {
  if (cmd === "") throw invalid(`tasks[${at}].cmd`, "must name a program to run, like sleep");
  const limit = timeLimitMs === undefined ? {} : { timeLimitMs };
  return { spec: { command: [cmd, ...parameters], ...limit } };
}

/** Fields by the names that the caller wrote. */
function asTheyCallIt(error: unknown): never {
  throw withField(error, theirs);
}

const theirs = (field: string): string =>
  field
    .replace(/^jobs/, "tasks")
    .replace(/\.command\[0\]$/, ".cmd")
    .replace(/\.command\[(\d+)\]$/, (_, at: string) => `.parameters[${Number(at) - 1}]`)
    .replace(/\.command$/, ".parameters");

/** With their commands, as far as clients accept the size: schedctl reads only the ids. */
function answer(tasks: readonly Asked[], ids: readonly string[]): Buffer {
  const rowOf = (id: string, command: readonly string[]): Uint8Array =>
    encodeTask({ id, command, state: "pending", workerId: "", workerError: "" });
  const rows = ids.map((id, at) => {
    const { cmd = "", parameters = [] } = tasks[at] ?? {};
    return rowOf(id, [cmd, ...parameters]);
  });
  const size = rows.reduce((sum, row) => sum + bytesInList(row.length), 0);
  const fitting = size <= limits.listedBytesMax ? rows : ids.map((id) => rowOf(id, []));
  return encodeList(fitting.map((row) => [row]));
}
