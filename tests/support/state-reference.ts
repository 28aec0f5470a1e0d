import { toGrpcStatus } from "../../src/api/grpc/status.ts";
import { toHttpStatus } from "../../src/api/native/status.ts";
import type { TaskFailure } from "../../src/core/model/job/task.ts";
import type { NodeStateName } from "../../src/core/model/node/node.ts";
import { TASK_STATES } from "../../src/core/model/progress.ts";
import { docs } from "../../src/gen/busbar/v1/docs.ts";
import { AppError, type ErrorCode } from "../../src/lib/errors.ts";
import { GRPC } from "../../src/lib/grpc/status-codes.ts";

// docs/reference/states.md: names from the model and the schema. Tables are exhaustive by type: a new state does not compile without a line
// here.

const NODES: Readonly<Record<NodeStateName, string>> = {
  connected: "gets tasks",
  draining: "gets no more tasks (`busbar nodes drain NAME`), and still runs some",
  drained: "gets no more tasks, and runs none",
  unhealthy:
    "its agent cannot start processes; gets no tasks until it can ([sick nodes](../operations.md#sick-nodes))",
  quarantined:
    "different jobs failed there at once, one after the other; gets one task at a time until one works",
  disconnected: "without a connection; the server assumes that its tasks continue",
  lost: "away for too long; its tasks were placed again, failed, or wait for it (`--on-lost`, [edges](../edges.md)). When it returns it stops runs that are no longer assigned to it",
};

/** Its meaning, and the exit code of the attempt. */
const FAILURES: Readonly<Record<TaskFailure["kind"], readonly [meaning: string, exit: string]>> = {
  exited: ["the command ended by itself, not with 0", "its own"],
  signalled: ["a signal ended the command", "128 + the signal's number"],
  "time-limit": ["it ran longer than its time limit", "124"],
  "out-of-memory": ["the kernel killed it at the memory limit that its node enforces", "137"],
  "could-not-start": ["no such program, not executable, no such directory", "127"],
  "node-fault": ["its node could not start it; uses no retry, and runs elsewhere", "none"],
  vanished: ["its process is gone and left no exit code", "none"],
  lost: ["its node was lost", "none"],
  requeued: ["a caller had it stopped to be placed again; only earlier attempts", "none"],
};

const ERRORS: Readonly<Record<ErrorCode, readonly [meaning: string, remedy: string]>> = {
  invalid_argument: ["a value is not what the schema of the request allows", "change the request"],
  unprocessable: [
    "the values fit the schema and contradict each other, or a document in them cannot be read",
    "change the request",
  ],
  unschedulable: [
    "no registered node or cluster can run the job",
    "ask for less, add a node or a cluster, or allow it (`--allow-unsatisfiable`)",
  ],
  not_found: [
    "no such job, node, group, cluster or service",
    "look at the name; it may have been removed",
  ],
  already_exists: ["the name is taken", "choose another, or update it"],
  unauthenticated: ["the credential is missing or wrong", "send the right one"],
  permission_denied: ["the principal may not do this", "the message names the roles that may"],
  conflict: [
    "the state does not allow it, or the revision is not `ifRevision`",
    "read again, decide again",
  ],
  compacted: [
    "the revision is older than the retained history",
    "list again, and watch from the revision of the list",
  ],
  exhausted: ["a [limit](limits.md) was reached", "ask for less, or later"],
  unavailable: ["the server, or the node that has the output, cannot answer now", "try again"],
  internal: ["a fault of Busbar", "report it; the log of the server has the rest"],
};

const table = (head: string, rows: readonly (readonly string[])[]): string =>
  [head, head.replaceAll(/[^|]+/g, "---"), ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join(
    "\n",
  );

const stateRow = (state: string): readonly string[] => {
  const text = docs[`busbar.v1.State.STATE_${state.toUpperCase()}`] ?? "";
  const isTaskOnly = text.startsWith("tasks only: ");
  return [state, isTaskOnly ? "tasks" : "tasks, jobs", text.replace("tasks only: ", "")];
};

function errorRow(code: ErrorCode): readonly string[] {
  const status = toGrpcStatus(new AppError(code, "")).code;
  const [grpc = ""] = Object.entries(GRPC).find(([, one]) => one === status) ?? [];
  return [code, grpc, String(toHttpStatus(code)), ...ERRORS[code]];
}

export function statesPage(): string {
  return [
    "# States, exit codes and error codes",
    "<!-- Made from the model and the schema: UPDATE_REFERENCE=1 npx vitest run tests/tidy/reference.test.ts -->",
    "## Tasks and jobs",
    table("| state | of | meaning |", TASK_STATES.map(stateRow)),
    "A job is pending until one of its tasks started, then running until all have ended. It is accepted when clusters accepted all tasks that have not ended and have reported nothing. An ended job is failed if a task failed, else expired if one expired, skipped if they were skipped, cancelled if one was cancelled, else succeeded. A job with energy succeeds when all of its energy is done. *On hold* is no state: `busbar job` shows who holds a pending job.",
    "## How tasks fail",
    "`failure` of a task, and of each earlier attempt.",
    table(
      "| failure | meaning | exit code |",
      Object.entries(FAILURES).map(([kind, cells]) => [kind, ...cells]),
    ),
    "## Exit codes",
    table("| of | code |", [
      ["every command", "0 done, 1 rejected or failed, 2 wrong usage"],
      ["`busbar run`", "that of the job; 1 if the job has none; 130 after Ctrl-C"],
      [
        "`busbar wait`, `submit --wait`, `rerun --wait`",
        "0 if all jobs succeeded, or were skipped with exit code 0; 124 if some had not ended within `--timeout`; else 1",
      ],
      ["`busbar submit --dry-run`, `busbar satisfy`", "0 if it would be accepted; else 1"],
      [
        "a single job (`exitCode`)",
        "that of its task; none if it was cancelled, expired, skipped or lost. 0 if it waited for a failure that did not happen ([dependencies](../jobs.md#run-after-another-job))",
      ],
      ["an array (`exitCode`)", "0 if all tasks succeeded, 1 if one failed"],
      [
        "`busbar up`, `server`, `agent`",
        "0 after SIGTERM or SIGINT, 1 when the store or the start failed",
      ],
    ]),
    "## Nodes",
    table("| state | meaning |", Object.entries(NODES)),
    "## Services",
    "`rollout.state` of a service: `done`, `rolling`, `stopped` (new instances failed), `removing`. Instances have the states of their task ([services](../services.md)).",
    "## Errors",
    'REST answers with `{"error": {"code", "message", "field"?}}`, gRPC with the trailers `busbar-code` and `busbar-field`, GraphQL with `extensions.code` and `extensions.field`, `--output json` as REST. `field` is the path of the input that is wrong.',
    table(
      "| code | gRPC | HTTP | meaning | what to do |",
      (Object.keys(ERRORS) as ErrorCode[]).map(errorRow),
    ),
    "REST also answers with 405, 408, 414, 415 and 431 where HTTP's own rules say so (`invalid_argument`), and with 413 for a body that is too large (`exhausted`).",
    "",
  ].join("\n\n");
}
