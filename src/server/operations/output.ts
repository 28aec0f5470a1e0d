import type { NodeId } from "../../core/model/ids.ts";
import type { RunRef } from "../../core/state/command.ts";
import type { State } from "../../core/state/state.ts";
import { isEnded, type ReportedOutput } from "../../core/model/job/task.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { AppError } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import type { AgentSession } from "../sessions/agent-session.ts";
import type { OperationContext } from "./create-operations.ts";
import { requireTask } from "./job-operations.ts";
import type { OutputQuery } from "./operations.ts";

type Source =
  | { readonly kind: "node"; readonly nodeId: NodeId; readonly run: RunRef }
  /** The output that the cluster reported: the end of the whole output. */
  | { readonly kind: "told"; readonly output: ReportedOutput };

export const OFFSET_RULE = {
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  multipleOf: 1,
} as const satisfies Rule;

/**
 * Reads a task's output from its node, piece by piece as fast as the reader reads. With
 * follow it continues until the attempt has ended, and first waits for a task that has not started.
 */
export async function* readOutput(
  { loop, sessions, clock }: OperationContext,
  query: OutputQuery,
  signal: AbortSignal,
  bytesMax: number = limits.outputChunkBytesMax,
): AsyncGenerator<{ readonly data: Uint8Array; readonly truncated: boolean }> {
  let offset = query.offset ?? 0;
  checkRule(offset, "offset", OFFSET_RULE);
  const follow = query.follow ?? false;
  let source = await loop.read((state) => findSource(state, query, follow));
  while (source === undefined) {
    if (!follow || signal.aborted) return;
    await pause(clock, limits.placedPollMs, signal);
    source = await loop.read((state) => findSource(state, query, follow));
  }
  if (source.kind === "told") {
    const data = Buffer.from(source.output[query.stream]).subarray(offset);
    if (data.length > 0) yield { data, truncated: false };
    return;
  }
  const { nodeId, run } = source;
  const waitMs = follow ? limits.outputWaitMsMax : 0;
  const { stream } = query;
  let session = sessions.sessionOf(nodeId);
  while (!signal.aborted) {
    const before = offset;
    let isEnd = false;
    try {
      for await (const chunk of session.readOutput(
        { run, stream, offset, waitMs, bytesMax },
        signal,
      )) {
        if (chunk.error !== "") throw new AppError("not_found", chunk.error);
        offset += chunk.data.length;
        if (chunk.data.length > 0 || chunk.truncated) {
          yield { data: chunk.data, truncated: chunk.truncated };
        }
        isEnd ||= chunk.eof;
      }
    } catch (error) {
      if (!session.isClosed) throw error;
      session = await returned({ sessions, clock }, nodeId, signal);
      continue;
    }
    if (isEnd || (!follow && offset === before)) return;
  }
}

/** The node's next session, in which a reader continues at its offset. Throws when the node does not reconnect in time. */
async function returned(
  { sessions, clock }: Pick<OperationContext, "sessions" | "clock">,
  nodeId: NodeId,
  signal: AbortSignal,
): Promise<AgentSession> {
  for (let waitedMs = 0; waitedMs < limits.outputResumeMsMax; waitedMs += limits.placedPollMs) {
    if (signal.aborted || sessions.isConnected(nodeId)) break;
    await pause(clock, limits.placedPollMs, signal);
  }
  return sessions.sessionOf(nodeId);
}

/** Where the attempt ran or runs; undefined: not placed yet. */
function findSource(state: State, query: OutputQuery, follow: boolean): Source | undefined {
  const { record, index } = requireTask(state, query.taskId);
  const { job } = record;
  const task = record.task(index);
  const attempt = query.attempt || (task?.attempt ?? 0);
  const run: RunRef = { jobId: job.id, index, attempt };
  if (task !== undefined && attempt === task.attempt && "nodeId" in task.state) {
    const { nodeId } = task.state;
    if (nodeId !== undefined) return { kind: "node", nodeId, run };
  }
  if (task !== undefined && attempt === task.attempt) {
    if (task.told !== undefined) return { kind: "told", output: task.told };
    checkNotHanded(query.taskId, task.state);
  }
  const past = task?.past.find((one) => one.attempt === attempt);
  if (past !== undefined && (query.attempt !== undefined || !follow)) {
    if (past.nodeId !== undefined) return { kind: "node", nodeId: past.nodeId, run };
    checkNotHanded(query.taskId, past);
  }
  if (query.attempt !== undefined) {
    throw new AppError("not_found", `task ${query.taskId} has no attempt ${query.attempt}`);
  }
  const isOver = job.closed !== undefined || (task !== undefined && isEnded(task.state));
  if (isOver || !follow) {
    throw new AppError("not_found", `task ${query.taskId} has not run, so it has no output`);
  }
  return undefined;
}

/** A cluster that accepted a task has its output; the server has only the part that the cluster reports. */
function checkNotHanded(taskId: string, ran: object): void {
  if (!("cluster" in ran) || ("kind" in ran && ran.kind === "offered")) return;
  throw new AppError(
    "not_found",
    `task ${taskId} was accepted by cluster ${String(ran.cluster)}, which has not reported its output`,
  );
}

const pause = (clock: OperationContext["clock"], ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener("abort", end);
  });
