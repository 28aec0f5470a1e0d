import type { NodeId } from "../../core/model/ids.ts";
import type { RunRef } from "../../core/state/command.ts";
import type { State } from "../../core/state/state.ts";
import { AppError } from "../../lib/errors.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { limits } from "../../limits.ts";
import type { TerminalSize } from "../../ports/attached-run.ts";
import type { AttachListener } from "./agent-attachments.ts";
import type { OperationContext } from "../operations/create-operations.ts";
import { requireTask } from "../operations/job-operations.ts";
import type { CallerOperations } from "../operations/operations.ts";
import { OFFSET_RULE } from "../operations/output.ts";

export interface AttachQuery {
  readonly taskId: string;
  /** Absent or 0: the current one. */
  readonly attempt?: number | undefined;
  /** The client has the terminal's output up to this offset. */
  readonly outputOffset: number;
  readonly size?: TerminalSize | undefined;
}

/** Connects clients to the agents of their running tasks. Bounds the number of clients. */
export function createAttachOperation({
  loop,
  sessions,
}: OperationContext): CallerOperations["attach"] {
  let open = 0;
  return async (_caller, query, listener) => {
    checkRule(query.outputOffset, "outputOffset", OFFSET_RULE);
    const { nodeId, run } = await loop.read((state) => findRun(state, query));
    if (open >= limits.attachStreamsMax) {
      const text = `the limit of ${open} attached clients is reached; try again later`;
      throw new AppError("exhausted", text);
    }
    if (!sessions.isConnected(nodeId)) throw away(nodeId);
    open += 1;
    const release = once(() => (open -= 1));
    const counted: AttachListener = {
      ...listener,
      over(error) {
        release();
        listener.over(error);
      },
    };
    try {
      const attached = sessions.sessionOf(nodeId).attachments.open(run, query, counted);
      return {
        ...attached,
        close() {
          release();
          attached.close();
        },
      };
    } catch (error) {
      release();
      throw error;
    }
  };
}

const away = (nodeId: NodeId): AppError =>
  new AppError("unavailable", `node ${nodeId} is not connected; its task continues`);

function findRun(
  state: State,
  { taskId, attempt }: AttachQuery,
): { readonly nodeId: NodeId; readonly run: RunRef } {
  const { record, index } = requireTask(state, taskId);
  const { job } = record;
  if (job.spec.terms.attach === undefined) {
    throw new AppError(
      "conflict",
      `task ${taskId} takes no client: its job was submitted without attach (busbar run --stdin or --pty)`,
    );
  }
  const task = record.task(index);
  const current = task?.attempt ?? 0;
  if (attempt !== undefined && attempt !== 0 && attempt !== current) {
    throw new AppError("conflict", `attempt ${attempt} of task ${taskId} is not its current one`);
  }
  const kind = task?.state.kind;
  const runs = kind === "running" || kind === "assigned" || kind === "stopping";
  if (task === undefined || !runs || !("nodeId" in task.state) || !task.state.nodeId) {
    throw new AppError("conflict", `task ${taskId} is not running: it is ${kind ?? "pending"}`);
  }
  return { nodeId: task.state.nodeId, run: { jobId: job.id, index, attempt: current } };
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
