import { limits } from "../../../limits.ts";
import type { RikOperations } from "../operations.ts";

const GONE = "rik/gone/";
const SENT = "sent";

/** An instance that may be in the database of its controller, though its end was about to be sent. */
export interface Ghost {
  readonly workloadId: string;
  readonly jobId: string;
}

/**
 * Notes of the ends that controllers received. rik's controller exits at a second end of an instance, and keeps an instance forever whose end it
 * misses. So a note is stored before its end is sent, and changed when it was:
 *
 *   (none) ──about to be sent──► noted ──sent──► sent
 *      ▲                           └── the server was killed meanwhile: it may be a ghost, and ends when its controller asks for it
 *      └────── not sent: the next controller receives it ──┘
 */
export class EndNotes {
  readonly #operations: RikOperations;
  readonly #noted = new Set<string>(); // by job: their notes are removed with them
  readonly #unsure = new Set<string>(); // those of an earlier process that are not known to be sent
  readonly #ghosts = new Map<string, Ghost>(); // by controller and id
  #records: { id: string; text: string | undefined }[] = [];

  constructor(operations: RikOperations) {
    this.#operations = operations;
  }

  /** Returns whether the record is a note. */
  read({ id, text }: { readonly id: string; readonly text: string }): boolean {
    if (!id.startsWith(GONE)) return false;
    const jobId = id.slice(GONE.length);
    this.#noted.add(jobId);
    if (text !== SENT) this.#unsure.add(jobId);
    return true;
  }

  has(jobId: string): boolean {
    return this.#noted.size > 0 && this.#noted.has(jobId);
  }

  /** The record of a note, to be stored before the end is sent. */
  note(jobId: string): { id: string; text: string } {
    this.#noted.add(jobId);
    return { id: GONE + jobId, text: "" };
  }

  sent(jobId: string): void {
    this.#store({ id: GONE + jobId, text: SENT });
  }

  notSent(jobId: string): void {
    this.#noted.delete(jobId);
    this.#store({ id: GONE + jobId, text: undefined });
  }

  /** Its job is removed. */
  remove(jobId: string): void {
    this.#unsure.delete(jobId);
    if (this.#noted.delete(jobId)) this.#store({ id: GONE + jobId, text: undefined });
  }

  /** A job of an earlier process, newest first, whose end is noted. */
  found(controller: string, id: string, ghost: Ghost): void {
    const key = keyOf(controller, id);
    if (this.#unsure.has(ghost.jobId) && !this.#ghosts.has(key)) this.#ghosts.set(key, ghost);
  }

  /** Once: its end is sent after that. */
  takeGhost(controller: string, id: string): Ghost | undefined {
    const ghost = this.#ghosts.get(keyOf(controller, id));
    this.forgetGhost(controller, id);
    if (ghost !== undefined) this.sent(ghost.jobId);
    return ghost;
  }

  /** Its controller has another instance of this id. */
  forgetGhost(controller: string, id: string): void {
    if (this.#ghosts.size > 0) this.#ghosts.delete(keyOf(controller, id));
  }

  /** Together with the others of this turn. Lost with a killed server: then an end counts as noted. */
  #store(record: { id: string; text: string | undefined }): void {
    this.#records.push(record);
    if (this.#records.length === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const records = this.#records;
    this.#records = [];
    for (let at = 0; at < records.length; at += limits.rikNotesAtOnceMax) {
      const some = records.slice(at, at + limits.rikNotesAtOnceMax);
      this.#operations.putDoorRecords(some).catch(ignore);
    }
  }
}

/** The server is stopping or broken; the next one reads the same rows. */
const ignore = (): void => undefined;

export const keyOf = (controller: string, id: string): string =>
  `${controller}/${encodeURIComponent(id)}`;
