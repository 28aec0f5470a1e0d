import type { ReportedProgress } from "../../core/model/job/task-progress.ts";
import { AppError } from "../../lib/errors.ts";
import type {
  AheadRuns,
  Executor,
  OutputPart,
  RunId,
  RunReport,
  RunRequest,
} from "../../ports/executor.ts";
import { runKey } from "../runs/run-key.ts";

/** An executor whose runs stay active until a test ends them. */
export class FakeExecutor implements Executor {
  readonly name = "fake";
  readonly started: RunRequest[] = [];
  readonly stopped: RunId[] = [];
  readonly forgotten: string[] = [];
  /** Why probes fail; undefined: they succeed. */
  sickness: string | undefined = undefined;
  probes = 0;
  /** Started runs are queued until a test reports them. */
  hasQueue = false;
  readonly inQueue: RunId[] = [];
  /** Begins held runs itself, if a test enables that. */
  ahead?: AheadRuns;
  read: (id: RunId, options: { readonly offset: number }) => Promise<OutputPart> = () =>
    Promise.reject(new AppError("not_found", "no output"));
  readonly #runs = new Map<string, { readonly id: RunId; readonly report: RunReport }>();
  #listener: (id: RunId, report: RunReport) => void = () => undefined;

  /** A run reports progress. */
  progress: (id: RunId, progress: ReportedProgress) => void = () => undefined;

  start(request: RunRequest): void {
    if (this.#runs.has(runKey(request.id))) return;
    this.started.push(request);
    if (this.hasQueue) {
      this.inQueue.push(request.id);
      return;
    }
    this.report(request.id, { kind: "running", startedAtMs: 1 });
  }

  stop(id: RunId): void {
    this.stopped.push(id);
  }

  forget(id: RunId): void {
    this.forgotten.push(runKey(id));
    this.#runs.delete(runKey(id));
  }

  known(): { readonly id: RunId; readonly report: RunReport }[] {
    return [...this.#runs.values()];
  }

  queued(): readonly RunId[] {
    return this.inQueue.filter((id) => !this.#runs.has(runKey(id)));
  }

  readOutput(
    id: RunId,
    _stream: "stdout" | "stderr",
    options: { readonly offset: number },
  ): Promise<OutputPart> {
    return this.read(id, options);
  }

  onReport(listener: (id: RunId, report: RunReport) => void): void {
    this.#listener = listener;
  }

  onProgress(listener: (id: RunId, progress: ReportedProgress) => void): void {
    this.progress = listener;
  }

  probe(): Promise<void> {
    this.probes += 1;
    return this.sickness === undefined
      ? Promise.resolve()
      : Promise.reject(new Error(this.sickness));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  report(id: RunId, report: RunReport): void {
    this.#runs.set(runKey(id), { id, report });
    this.#listener(id, report);
  }

  end(id: RunId, exitCode = 0): void {
    this.report(id, {
      kind: "ended",
      startedAtMs: 1,
      endedAtMs: 2,
      end: { kind: "exited", exitCode },
    });
  }
}
