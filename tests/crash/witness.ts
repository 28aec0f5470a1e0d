import { AppError, describeChain } from "../../src/lib/errors.ts";
import { isEnded } from "../../src/client/state.ts";
import { taskKey } from "./check.ts";
import { toTaskFacts, type TaskFacts } from "./facts.ts";
import { isAway, pause } from "./load.ts";
import type { World } from "./world.ts";

/**
 * Watches all tasks through every restart of the server, and records their ends as it receives them. A received event must stay true: the
 * server must not take back a revision either.
 */
export class Witness {
  readonly seenEnded = new Map<string, TaskFacts>();
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #stop = new AbortController();
  #revision = 0n;
  #work: Promise<void> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    this.#work = this.#watchOn();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #watchOn(): Promise<void> {
    let afterRevision = 0n;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#watch(afterRevision);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (error instanceof AppError && error.code === "compacted") {
          afterRevision = 0n; // it missed some: a restarted server has no history
          continue;
        }
        if (!isAway(error)) this.problems.push(`the watch was refused: ${describeChain(error)}`);
      }
      afterRevision = this.#revision;
      await pause(50);
    }
  }

  async #watch(afterRevision: bigint): Promise<void> {
    const options = { signal: this.#stop.signal };
    const events = this.#world.client.watch(
      { tasks: true, afterRevision: afterRevision === 0n ? undefined : afterRevision },
      options,
    );
    for await (const { revision, event } of events) {
      if (revision < this.#revision) {
        this.problems.push(`revision ${revision} came after ${this.#revision}`);
      }
      this.#revision = revision;
      if (event.case === "task") this.#note(toTaskFacts(event.value), isEnded(event.value.state));
    }
  }

  #note(task: TaskFacts, hasEnded: boolean): void {
    const before = this.seenEnded.get(taskKey(task));
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(task)) {
      const [was, is] = [JSON.stringify(before), JSON.stringify(task)];
      this.problems.push(`task ${taskKey(task)} had ended as ${was} and became ${is}`);
    }
    if (hasEnded) this.seenEnded.set(taskKey(task), task);
  }
}
