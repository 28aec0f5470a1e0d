import { limits } from "../../../limits.ts";

const MOST = 2 ** 31 - 1;
/** Numbers from here on are those of tasks of arrays; no server has had a thousand million jobs. */
const FIRST_OF_TASKS = 2 ** 30;

/**
 * Numbers of tasks for a wire on which they have 32 bits. The only task of a job has the job's number; tasks
 * of arrays ("17.3") get one from the other end, counting down. These are dropped on a restart and when
 * there are too many: a client that accepts a dropped number gets the answer that not all were accepted,
 * and receives the task again with a new number.
 */
export class JobNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #tasks = new Map<number, string>();
  readonly #knownMax: number;
  #next: number;

  /**
   * `fraction` (0 up to 1) is the starting point: if it were always the same, a number received before a restart would mean another task
   * after it.
   */
  constructor(fraction: number, knownMax: number = limits.knownTaskNumbersMax) {
    this.#knownMax = knownMax;
    this.#next = MOST - Math.floor(fraction * (MOST - FIRST_OF_TASKS));
  }

  numberOf(taskId: string): number {
    if (!taskId.includes(".")) return Number(taskId);
    const known = this.#numbers.get(taskId);
    if (known !== undefined) return known;
    const [oldest] = this.#numbers;
    if (oldest !== undefined && this.#numbers.size >= this.#knownMax) {
      this.#numbers.delete(oldest[0]);
      this.#tasks.delete(oldest[1]);
    }
    const number = this.#next;
    this.#next = number === FIRST_OF_TASKS ? MOST : number - 1;
    this.#numbers.set(taskId, number);
    this.#tasks.set(number, taskId);
    return number;
  }

  /** Undefined: no task has it, or no longer. */
  taskOf(number: number): string | undefined {
    if (number >= FIRST_OF_TASKS) return this.#tasks.get(number);
    return number < 1 ? undefined : String(number);
  }
}
