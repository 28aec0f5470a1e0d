import type { Principal } from "../../../core/access/principal.ts";
import { readWorkload } from "../../../core/model/job/workload/workload.ts";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import { doubtfulImages } from "../definition.ts";
import type { RikAccess } from "../operations.ts";
import { inRikWords } from "../status.ts";
import { type RikInstanceInput, toSubmission } from "../translate.ts";
import type { RikInstance } from "./instance.ts";
import type { InstanceBook } from "./instance-book.ts";

export interface LifecycleOptions {
  readonly operations: RikAccess;
  readonly book: InstanceBook;
  readonly logger: Logger;
}

/** Makes jobs from instances, and ends them. */
export class InstanceLifecycle {
  readonly #options: LifecycleOptions;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Resolves when it is durable, as a job or as a rejected one. `replaced`: the instance that had its id. */
  async create(
    input: RikInstanceInput & Pick<RikInstance, "home">,
    principal: Principal,
    replaced?: RikInstance,
  ): Promise<void> {
    if (replaced !== undefined) replaced.isTold = true; // its end would be taken for that of the new one
    const { definition, ...names } = input;
    const instance = this.#options.book.add(names);
    const gone = replaced === undefined ? undefined : this.#retire(replaced, principal);
    instance.submitting = this.#submit(instance, definition, principal, gone);
    try {
      await instance.submitting;
    } catch (error) {
      this.#options.book.drop(instance); // not stored: the same again is another one
      throw error;
    }
  }

  async destroy(instance: RikInstance, principal: Principal, reason: string): Promise<void> {
    const { book } = this.#options;
    if (instance.isTold) return;
    await instance.submitting?.catch(() => undefined); // the submitter receives it
    if (await this.#cancel(instance, principal, reason)) return;
    if (instance.state.status !== ResourceStatus.TERMINATED) book.destroyed(instance, reason);
  }

  /** False: it has no job that could be ended. */
  async #cancel(instance: RikInstance, principal: Principal, reason: string): Promise<boolean> {
    if (instance.isOver || instance.jobId === undefined) return false;
    try {
      await this.#options.operations.as(principal).cancelJob(instance.jobId, reason);
      instance.isGoing = true;
      return !hasEnded(instance);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "conflict") throw error;
      return false;
    }
  }

  async #retire(instance: RikInstance, principal: Principal): Promise<void> {
    await this.#cancel(instance, principal, "its controller created another instance of this id");
    await this.#options.book.retired(instance);
  }

  /** `ready`: settles when it can be submitted. */
  async #submit(
    instance: RikInstance,
    definition: string,
    principal: Principal,
    ready: Promise<void> | undefined,
  ): Promise<void> {
    const { book, operations, logger } = this.#options;
    const { controller, id, workloadId } = instance;
    await ready;
    try {
      const submission = toSubmission({ controller, workloadId, id, definition });
      instance.definition = definition; // it is valid
      const doubtful = doubtfulImages(readWorkload(definition));
      if (doubtful.length > 0) {
        logger.warn({ instance: id, images: doubtful }, "rik's own workers fail on such images");
      }
      const options = { allowUnsatisfiable: true };
      const { jobs } = await operations.as(principal).submitJobs([submission], options);
      if (jobs[0] !== undefined) book.submitted(instance, jobs[0].id);
    } catch (error) {
      const known = inRikWords(AppError.from(error, "submit an instance"));
      if (known.code === "unavailable" || known.code === "internal") throw known;
      logger.info({ controller, instance: id, reason: known.message }, "instance refused");
      await book.refused(instance, known.message);
    }
  }
}

/** It may have failed while the order to cancel it was under way. */
const hasEnded = ({ isOver }: RikInstance): boolean => isOver;
