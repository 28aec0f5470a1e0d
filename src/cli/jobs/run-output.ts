import type { Task } from "../../client/messages.ts";
import { isEnded, stateName } from "../../client/state.ts";
import { AppError, describeChain } from "../../lib/errors.ts";
import { isBrokenPipe } from "../failure.ts";
import { copyOutput, prefixLines, type StreamName, type Write } from "../output.ts";
import type { Session } from "../session.ts";

/** Outputs that are read in parallel; those of further tasks wait. */
const READERS_MAX = 64;
/** After the job's end, `run` stops reading an output that is silent for so long. */
const SILENCE_MS = 10_000;

export interface Outputs {
  /** Starts to copy the output of a task's attempt, once for each. */
  see(task: Task): void;
  /** Whether some of it could not be written here, e.g. to a file on a full disk. */
  isIncomplete(): boolean;
  /** The number of started tasks. */
  opened(): number;
  /** Resolves when everything that was started has been copied. */
  drain(): Promise<void>;
}

interface Options {
  readonly sinks: Readonly<Record<StreamName, Write>>;
  /** The streams to copy; default: both. */
  readonly streams?: readonly StreamName[];
  /** Called for each attempt that has started, before any of its output is copied. */
  readonly onStarted?: (task: Task) => void;
  /** Whether lines begin with the task's index. */
  readonly prefixed: boolean;
  /** Fired here when the output can no longer be written. */
  readonly stop: AbortController;
}

export function createOutputs(session: Session, options: Options): Outputs {
  const { sinks, prefixed, stop, streams = ["stdout", "stderr"], onStarted } = options;
  const attempts = new Map<number, number>(); // the latest seen, by index
  const queue: { readonly task: Task; readonly stream: StreamName }[] = [];
  const running = new Set<Promise<void>>();
  let active = 0; // grows with every chunk, to distinguish slow from dead
  const unwritable = new Map<StreamName, unknown>(); // what their sinks said first

  async function copy(task: Task, stream: StreamName): Promise<void> {
    const write: Write = async (data) => {
      active += 1;
      await sinks[stream](data).catch((error: unknown) => {
        if (!isBrokenPipe(error) && !unwritable.has(stream)) unwritable.set(stream, error);
        throw error;
      });
    };
    const lines = prefixed ? prefixLines(`[${task.index}] `, write) : undefined;
    const what = { taskId: task.id, stream, attempt: task.attempt, follow: true };
    try {
      const { truncated } = await copyOutput(session, what, lines?.write ?? write, stop.signal);
      await lines?.end();
      if (truncated)
        await session.note(`the ${stream} of ${task.id} is cut: it exceeded its limit`);
    } catch (error) {
      if (stop.signal.aborted) return;
      if (isBrokenPipe(error)) return stop.abort(error);
      if (unwritable.get(stream) === error) return tellUnwritable(task, stream, error);
      if (unwritable.has(stream)) return; // told for the first task
      const { message } = AppError.from(error, "read output");
      await session.note(`cannot read the ${stream} of ${task.id}: ${message}`);
    }
  }

  async function tellUnwritable(task: Task, stream: StreamName, error: unknown): Promise<void> {
    const [job = ""] = task.id.split(".");
    const text = `cannot write the ${stream} of ${task.id}: ${describeChain(error)}`;
    await session.note(`${text}; job ${job} continues, and busbar logs ${job} has all of it`);
  }

  function startMore(): void {
    while (running.size < READERS_MAX) {
      const next = queue.shift();
      if (next === undefined) return;
      const work = copy(next.task, next.stream).finally(() => {
        running.delete(work);
        startMore();
      });
      running.add(work);
    }
  }

  return {
    see(task) {
      if (task.attempt === 0 || !hasStarted(task)) return;
      if ((attempts.get(task.index) ?? 0) >= task.attempt) return;
      attempts.set(task.index, task.attempt);
      onStarted?.(task);
      for (const stream of streams) queue.push({ task, stream });
      startMore();
    },
    isIncomplete: () => unwritable.size > 0,
    opened: () => attempts.size,
    async drain() {
      while (running.size > 0) {
        const before = active;
        const silence = new AbortController();
        const patience = session.context.sleep(SILENCE_MS, silence.signal).then(() => "silent");
        const first = await Promise.race([patience, ...running]);
        silence.abort();
        stop.signal.throwIfAborted();
        if (first === "silent" && active === before) {
          await session.note("some of the output did not arrive in time; see `busbar logs`");
          return;
        }
      }
      stop.signal.throwIfAborted();
    },
  };
}

/** A task that waits for its retry has output too, even if no event showed it running. */
function hasStarted({ state }: Task): boolean {
  const name = stateName(state);
  return isEnded(state) || name === "running" || name === "stopping" || name === "waiting";
}
