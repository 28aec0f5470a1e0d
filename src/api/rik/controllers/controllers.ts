import type { Principal } from "../../../core/access/principal.ts";
import { ResourceStatus, WorkloadRequestKind } from "../../../gen/rik/v1/common_pb.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { CallContext } from "../../grpc/calls/call-context.ts";
import type { FrameSink, FrameSource } from "../../grpc/calls/pushed-frames.ts";
import { answersPing } from "../../grpc/ping.ts";
import type { SchedulingRequest } from "../read-scheduling.ts";
import { deafController } from "../status.ts";
import { ANYBODY } from "../translate.ts";
import type { Worker } from "../workers/worker.ts";
import type { RikWorkers } from "../workers/workers.ts";
import type { RikInstance } from "./instance.ts";
import type { InstanceBook } from "./instance-book.ts";
import type { InstanceLifecycle } from "./lifecycle.ts";
import { QuickExits } from "./quick-exits.ts";
import { type EndReport, Subscription } from "./subscription.ts";

export interface ControllersOptions {
  readonly book: InstanceBook;
  readonly lifecycle: InstanceLifecycle;
  readonly workers: RikWorkers;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether a controller that subscribes receives the status of its instances. */
  readonly replays: boolean;
}

/** The caller: a principal, and the name that separates its instances from those of others. */
export interface RikController {
  readonly principal: Principal;
  readonly name: string;
  /** Whether it is rik's own program. */
  readonly isRik: boolean;
}

/** Controllers of rik: their requests, and the statuses that they receive. */
export class Controllers {
  readonly #options: ControllersOptions;
  readonly #subscriptions = new Set<Subscription>();
  readonly #hadOne = new WeakSet<object>();
  readonly #quickExits = new QuickExits();
  #ended: RikInstance[] = [];
  #isNoting = false;

  constructor(options: ControllersOptions) {
    this.#options = options;
    options.workers.onChange((worker) => {
      for (const subscription of this.#subscriptions) this.#tellWorker(subscription, worker);
    });
  }

  get count(): number {
    return this.#subscriptions.size;
  }

  /** Each controller receives the statuses of its own instances only. */
  subscribe(
    { name, isRik }: RikController,
    { connection }: CallContext,
    sink: FrameSink,
  ): FrameSource {
    const { book, workers, clock, logger } = this.#options;
    const openedMs = clock.nowMs();
    sink.begin();
    const others = [...this.#subscriptions].filter(({ controller }) => controller === name);
    const isSuccessor = book.hasSubscribed(name);
    const subscription = new Subscription(name, connection, sink, isSuccessor);
    for (const one of [...others, subscription]) one.isShared = others.length > 0 || one.isShared;
    this.#subscriptions.add(subscription);
    this.#hadOne.add(connection);
    book.noteSubscriber(name).catch((error: unknown) => {
      logger.warn({ controller: name, reason: describeChain(error) }, "controller not noted");
    });
    for (const worker of workers.all) this.#tellWorker(subscription, worker);
    this.#adopt(subscription);
    subscription.alone = Promise.all(others.map((other) => this.#takeOver(other, subscription)));
    logger.info({ controller: name }, "controller subscribed");
    return {
      close: () => {
        this.#subscriptions.delete(subscription);
        subscription.closed();
        logger.info({ controller: name }, "controller is gone");
        if (isRik) this.#left(subscription, clock.nowMs() - openedMs);
      },
      end: (error) => subscription.end(error),
      beat: () => subscription.beat(),
    };
  }

  /**
   * Reports an invalid request as a status of its instance: any error ends rik's controller.
   * Throws only when the store failed, or to restart a controller that has lost its stream.
   */
  async schedule(
    request: SchedulingRequest,
    who: RikController,
    context: CallContext,
  ): Promise<void> {
    if (request.instanceId === "") this.#ignore(who);
    else if (request.action === WorkloadRequestKind.DESTROY)
      await this.#destroy(request, who, context);
    else await this.#create(request, who, context);
    if (this.#isDeaf(who, context)) throw deafController();
  }

  /** An instance has changed. */
  changed(instance: RikInstance): void {
    const { home, id, workloadId, state } = instance;
    if (home?.isOpen !== true || instance.isTold) return;
    if (state.status === ResourceStatus.TERMINATED) this.#tellEnd(instance);
    else home.instance(id, workloadId, state);
  }

  /** rik's controller finds instances by the beginning of their ids: a status without one would be that of any of them. */
  #ignore({ name: controller }: RikController): void {
    this.#options.logger.warn({ controller }, "a request without instance_id is ignored");
  }

  async #create(
    request: SchedulingRequest,
    who: RikController,
    context: CallContext,
  ): Promise<void> {
    const { book, lifecycle } = this.#options;
    const { instanceId: id, workloadId, definition } = request;
    const { principal, name: controller } = who;
    const { connection } = context;
    const known = book.find(controller, id);
    const create = (replaced?: RikInstance): Promise<void> => {
      const home = this.#homeOf(controller, connection);
      return lifecycle.create(
        { controller, id, workloadId, definition, home },
        principal,
        replaced,
      );
    };
    if (known === undefined) return create();
    const own = await this.#strangerTo(known, connection);
    if (own !== undefined) {
      own.clashes.add(id);
      return own.instance(id, workloadId, { status: ResourceStatus.FAILED, reason: CLASH });
    }
    await known.submitting; // an answer means that it is stored
    if (book.find(controller, id) !== known) return this.#create(request, who, context);
    if (isLeaving(known) || known.workloadId !== workloadId) return create(known);
    // A repeated request: from a controller that has not received the answer.
    known.isForgotten = false;
    if (known.home?.isOpen !== true) known.home = this.#homeOf(controller, connection);
    this.changed(known);
  }

  async #destroy(
    request: SchedulingRequest,
    who: RikController,
    context: CallContext,
  ): Promise<void> {
    const { book, lifecycle, replays } = this.#options;
    const { principal, name } = who;
    const { instanceId: id, workloadId } = request;
    const { connection } = context;
    const own = this.#subscriptionAt(connection);
    if (own?.clashes.delete(id) === true) {
      return own.instance(id, workloadId, { status: ResourceStatus.TERMINATED, reason: CLASH });
    }
    const instance = book.find(name, id);
    if (instance === undefined) return this.#endGhost(request, who, context);
    if ((await this.#strangerTo(instance, connection)) !== undefined) return;
    if ((!replays || instance.isForgotten) && instance.home?.isOpen !== true)
      instance.home = this.#homeOf(name, connection);
    await lifecycle.destroy(instance, principal, "destroyed by its controller");
    if (instance.state.status === ResourceStatus.TERMINATED) this.changed(instance);
  }

  #subscriptionAt(connection: object): Subscription | undefined {
    for (const one of this.#subscriptions)
      if (one.isOpen && one.connection === connection) return one;
    return undefined;
  }

  /** The subscription of this connection, if another one that lives has the instance: two controllers without names chose the same id. */
  async #strangerTo(instance: RikInstance, connection: object): Promise<Subscription | undefined> {
    const own = this.#subscriptionAt(connection);
    if (own === undefined || instance.home === own || instance.home?.isOpen !== true)
      return undefined;
    await own.alone; // the other may be the same controller, before it was restarted
    return own.isOpen && instance.home !== own && instance.home.isOpen ? own : undefined;
  }

  /**
   * The destination of statuses for requests of this connection. A proxy may open a connection for each call; but where several controllers
   * had no names, the caller may be another one of them, whose stream has ended.
   */
  #homeOf(controller: string, connection: object): Subscription | undefined {
    let latest: Subscription | undefined;
    for (const subscription of this.#subscriptions) {
      if (!subscription.isOpen || subscription.controller !== controller) continue;
      if (subscription.connection === connection) return subscription;
      latest = subscription;
    }
    return controller === ANYBODY && latest?.isShared === true ? undefined : latest;
  }

  /** Instances whose controller is gone belong to the next one of its name. */
  #adopt(subscription: Subscription): void {
    const { book, replays } = this.#options;
    if (!replays) return; // it may know none of them, and any status of such a one ends it
    for (const instance of book.of(subscription.controller)) {
      if (instance.home?.isOpen === true || instance.isForgotten) continue;
      instance.home = subscription;
      const isNews =
        instance.state.status !== ResourceStatus.PENDING || instance.state.reason !== "";
      if (!isNews) continue;
      subscription.hasAdopted = true;
      this.changed(instance);
    }
  }

  #left(subscription: Subscription, openMs: number): void {
    const { book, logger } = this.#options;
    const { controller, hasAdopted } = subscription;
    if (!hasAdopted || !this.#quickExits.ended(controller, openMs)) return;
    for (const instance of book.of(controller))
      if (instance.home === subscription) instance.isForgotten = true;
    logger.warn(
      { controller },
      "this controller of rik ended again and again when it received the statuses of its earlier instances, as it does when its database " +
        "does not have them: it gets no more of them until it destroys one; give several controllers names and tokens",
    );
  }

  /** Of two with the same name one may be the other, reconnected before its end was noticed. */
  async #takeOver(other: Subscription, by: Subscription): Promise<void> {
    if (await answersPing(other.connection, limits.rikThereMsMax)) return;
    other.end(new AppError("unavailable", "another controller of this name has subscribed"));
    if (by.isOpen) this.#adopt(by);
  }

  #tellWorker(subscription: Subscription, worker: Worker): void {
    const { hostname } = worker;
    const isTaken = this.#options.book.has(subscription.controller, hostname);
    subscription.worker(worker, isTaken ? `worker/${hostname}` : hostname);
  }

  /** Once: a second report would end the controller. So the server notes the report before it sends it. */
  #tellEnd(instance: RikInstance): void {
    instance.isTold = true;
    this.#ended.push(instance);
    if (!this.#isNoting) void this.#noteEnds();
  }

  async #noteEnds(): Promise<void> {
    const { book, logger } = this.#options;
    this.#isNoting = true;
    try {
      while (this.#ended.length > 0) {
        const ended = this.#ended.splice(0, limits.rikNotesAtOnceMax);
        await book.told(ended);
        for (const instance of ended) this.#sendEnd(instance);
      }
    } catch (error) {
      logger.warn({ reason: describeChain(error) }, "ends of instances not noted");
    } finally {
      this.#isNoting = false;
    }
  }

  #sendEnd(instance: RikInstance): void {
    const { book } = this.#options;
    const { controller, home, id, workloadId, state, jobId } = instance;
    const report: EndReport = {
      sent: () => (jobId === undefined ? undefined : book.notes.sent(jobId)),
      notSent: () => book.notTold(instance),
    };
    if (home === undefined || book.has(controller, id)) report.notSent();
    else home.instance(id, workloadId, state, report);
  }

  /**
   * Its controller still has an instance that this server does not have: the server was killed before it had stored the instance or while
   * it sent its end, or the controller before it had stored that end.
   */
  #endGhost(
    { instanceId: id, workloadId }: SchedulingRequest,
    { name, isRik }: RikController,
    { connection }: CallContext,
  ): void {
    const home = this.#homeOf(name, connection);
    if (home === undefined) return;
    const ghost = this.#options.book.notes.takeGhost(name, id);
    const isOwn = isRik && home.connection === connection;
    if (ghost === undefined && !(isOwn && mayHave(home, id))) return;
    const reason = "the server has no such instance any more";
    const state = { status: ResourceStatus.TERMINATED, reason };
    home.instance(id, ghost?.workloadId ?? workloadId, state);
  }

  /**
   * rik's controller does not subscribe again when its stream has ended, and ends itself when a request fails:
   * its supervisor starts it again, and it receives all missed statuses.
   */
  #isDeaf({ name, isRik }: RikController, { connection }: CallContext): boolean {
    if (!isRik) return false;
    if (!this.#hadOne.has(connection) && !this.#options.book.hasSubscribed(name)) return false;
    return this.#homeOf(name, connection) === undefined;
  }
}

/**
 * rik's controller destroys only instances that its database has; it removes them at their ends, of which one may be under way. The first of
 * its name has lost nothing.
 */
const mayHave = (home: Subscription, id: string): boolean => home.isSuccessor && !home.hasEnded(id);

/** A controller that creates its id wants another instance. */
const isLeaving = ({ isGoing, isTold, state: { status } }: RikInstance): boolean =>
  isGoing || isTold || status === ResourceStatus.DESTROYING || status === ResourceStatus.TERMINATED;

const CLASH =
  "another controller without a name has an instance of this id; give each controller a name and a token";
