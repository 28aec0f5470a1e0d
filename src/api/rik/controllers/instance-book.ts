import { SERVER } from "../../../core/access/principal.ts";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { limits } from "../../../limits.ts";
import type { JobBrief } from "../../../server/watch/job-brief.ts";
import type { FollowedEvent } from "../../../server/watch/watch-format.ts";
import type { RikAccess, RikOperations } from "../operations.ts";
import type { RikWorkload } from "../workloads/workload-book.ts";
import {
  CONTROLLER_LABEL,
  DOOR_LABEL,
  hasEnded,
  type RikInstanceState,
  isRest,
  stateOfInstance,
  stateOfJob,
  stateOfTask,
  submitterOf,
  WORKLOAD_LABEL,
} from "../translate.ts";
import { EndNotes } from "./end-notes.ts";
import { newInstance, type RikInstance } from "./instance.ts";
import { fromRecord, REFUSED, refusedKey, refusedRecord } from "./refused-records.ts";

export const CONTROLLER = "rik/controller/";

/** Every instance whose end its controller has not received, found by the names that controllers use. */
export class InstanceBook {
  readonly #operations: RikOperations;
  readonly #byController = new Map<string, Map<string, RikInstance>>();
  /** By the numbers of their jobs: V8 looks new strings up in a table of its own, before it does in a map. */
  readonly #byJob = new Map<number, RikInstance>();
  readonly notes: EndNotes;
  readonly #definitions = new RecentMap<string, string>(limits.rikTemplatesMax);
  readonly #known = new Set<string>();
  #hear: (instance: RikInstance) => void = () => undefined;
  #close: () => void = () => undefined;

  constructor(access: RikAccess) {
    this.#operations = access.as(SERVER);
    this.notes = new EndNotes(this.#operations);
  }

  /**
   * Reads the current instances, and follows later events; calls `hear` for each change. Instances of workloads that are services
   * are read from their slots: an ended job does not say whether the slot has another one.
   */
  async open(
    workloads: Iterable<RikWorkload>,
    hear: (instance: RikInstance) => void,
  ): Promise<void> {
    const early: FollowedEvent[] = [];
    let take = (event: FollowedEvent): void => void early.push(event);
    const follower = this.#operations.follow((event) => take(event));
    this.#close = () => follower.close();
    try {
      await this.#read();
      for (const workload of workloads) await this.#readSlots(workload);
      await this.#readJobs();
    } catch (error) {
      follower.close();
      throw error;
    }
    this.#hear = hear;
    take = (event) => this.#happened(event);
    for (const event of early) take(event);
  }

  close(): void {
    this.#close();
  }

  get count(): number {
    let total = 0;
    for (const instances of this.#byController.values()) total += instances.size;
    return total;
  }

  find(controller: string, id: string): RikInstance | undefined {
    return this.#byController.get(controller)?.get(id);
  }

  of(controller: string): IterableIterator<RikInstance> {
    return (this.#byController.get(controller) ?? new Map<string, RikInstance>()).values();
  }

  /** Why pending ones of these are not placed, by the number of their job: no event has it. Of many the first. */
  async pendingReasons(instances: readonly RikInstance[]): Promise<ReadonlyMap<string, string>> {
    const ids = instances
      .filter(({ state }) => state.status === ResourceStatus.PENDING && state.reason === "")
      .flatMap(({ jobId }) => (jobId === undefined ? [] : [jobId]))
      .slice(0, limits.rikPendingReasonsMax);
    const jobs = ids.map((id) => this.#operations.getJob(id).catch(ignore)); // it may just have been removed
    const reasons = new Map<string, string>();
    for (const job of await Promise.all(jobs)) {
      if (job?.state === "pending" && job.reason !== undefined) reasons.set(job.id, job.reason);
    }
    return reasons;
  }

  /** Of every controller. */
  *all(): Generator<RikInstance, void> {
    for (const instances of this.#byController.values()) yield* instances.values();
  }

  has(controller: string, id: string): boolean {
    return this.#byController.get(controller)?.has(id) === true;
  }

  /** Whether a controller of this name has ever subscribed, also at an earlier process of the server. */
  hasSubscribed(controller: string): boolean {
    return this.#known.has(controller);
  }

  async noteSubscriber(controller: string): Promise<void> {
    if (this.#known.has(controller)) return;
    this.#known.add(controller);
    await this.#operations.putDoorRecords([{ id: CONTROLLER + controller, text: "" }]);
  }

  add(
    input: Pick<RikInstance, "controller" | "id" | "workloadId" | "home"> & Partial<RikInstance>,
  ): RikInstance {
    const instance = newInstance(input);
    this.notes.forgetGhost(input.controller, input.id);
    this.#put(instance);
    return instance;
  }

  /** The instance is removed, and no controller waits for its end. */
  drop(instance: RikInstance): void {
    this.#drop(instance);
  }

  submitted(instance: RikInstance, jobId: string): void {
    instance.jobId ??= jobId;
    this.#byJob.set(Number(jobId), instance);
  }

  /** It never becomes a job: its controller receives the reason, and may destroy it. */
  async refused(instance: RikInstance, reason: string): Promise<void> {
    const record = refusedRecord(instance, reason);
    // One that is too long is known until this server ends: an error would end rik's controller.
    if (record.text.length <= limits.doorRecordCharsMax)
      await this.#operations.putDoorRecords([record]);
    instance.isOver = true;
    this.change(instance, { status: ResourceStatus.FAILED, reason });
  }

  change(instance: RikInstance, state: RikInstanceState): void {
    const { status, reason, node } = instance.state;
    if (state.status === status && state.reason === reason && state.node === node) return;
    instance.state = state;
    const isEnd = state.status === ResourceStatus.TERMINATED;
    // No controller waits for its end. The event of a slot says whether it is removed.
    if (isEnd && isRest(instance.controller) && instance.service === undefined) {
      if (instance.jobId === undefined || status === ResourceStatus.DESTROYING)
        this.#removeInstance(instance);
      this.#drop(instance);
    } else this.#hear(instance);
  }

  /** It had ended by itself before it was destroyed: its worker would not answer. */
  destroyed(instance: RikInstance, reason: string): void {
    this.change(instance, { status: ResourceStatus.DESTROYING, reason });
    this.change(instance, { status: ResourceStatus.TERMINATED, reason });
  }

  /**
   * Drops those of ended ones whose slots have been removed: with another job, whose events come now, or by another door, which no event
   * says. Of many the first.
   */
  async dropRemoved(instances: readonly RikInstance[]): Promise<void> {
    const ended = instances.filter(({ isOver }) => isOver).slice(0, limits.rikEndedCheckedMax);
    const checks = ended.map(async (instance) => {
      if (await this.#isRemoved(instance)) this.#drop(instance);
    });
    await Promise.all(checks);
  }

  /** Stores that the ends of these instances are about to be sent to their controllers, and drops the instances. */
  async told(instances: readonly RikInstance[]): Promise<void> {
    const records = instances.map(({ controller, id, jobId }) =>
      jobId === undefined
        ? { id: refusedKey(controller, id), text: undefined }
        : this.notes.note(jobId),
    );
    await this.#operations.putDoorRecords(records);
    for (const instance of instances) this.#drop(instance);
  }

  /** Its controller has another instance of its id, and receives nothing more of this one, also from the next server. */
  async retired(instance: RikInstance): Promise<void> {
    await this.told([instance]);
    if (instance.jobId !== undefined) this.notes.sent(instance.jobId);
  }

  /** Its end was not sent after all: the next controller of its name receives it. */
  notTold(instance: RikInstance): void {
    const { controller, id, jobId, state } = instance;
    if (this.has(controller, id)) return void this.retired(instance).catch(ignore);
    instance.isTold = false;
    if (jobId !== undefined) this.notes.notSent(jobId);
    else this.#operations.putDoorRecords([refusedRecord(instance, state.reason)]).catch(ignore);
    this.#put(instance);
  }

  async #isRemoved({ service, id }: RikInstance): Promise<boolean> {
    if (service === undefined) return false;
    try {
      await this.#operations.getInstance(service, id);
      return false;
    } catch (error) {
      return error instanceof AppError && error.code === "not_found";
    }
  }

  /** The next server would find again instances that had ended before they were destroyed. */
  #removeInstance(instance: RikInstance): void {
    this.told([instance]).catch(ignore);
  }

  #put(instance: RikInstance): void {
    const { controller, id, jobId } = instance;
    let instances = this.#byController.get(controller);
    if (instances === undefined) this.#byController.set(controller, (instances = new Map()));
    instances.set(id, instance);
    if (jobId !== undefined) this.#byJob.set(Number(jobId), instance);
  }

  #drop(instance: RikInstance): void {
    const { controller, id, jobId } = instance;
    if (this.find(controller, id) === instance) this.#byController.get(controller)?.delete(id);
    if (jobId !== undefined) this.#byJob.delete(Number(jobId));
  }

  async #read(): Promise<void> {
    for (const { id, text } of await this.#operations.listDoorRecords("rik")) {
      if (this.notes.read({ id, text })) continue;
      if (id.startsWith(CONTROLLER)) this.#known.add(id.slice(CONTROLLER.length));
      else if (id.startsWith(REFUSED)) this.#put(fromRecord(text));
    }
  }

  async #readSlots({ id: workloadId, owner: controller, service }: RikWorkload): Promise<void> {
    let pageToken: string | undefined;
    do {
      const page = { pageSize: limits.pageSizeMax, pageToken };
      const { instances, nextPageToken } = await this.#operations.listInstances(service, page);
      for (const slot of instances) {
        const { name: id, jobId } = slot;
        const isOver = slot.state === "succeeded" || slot.state === "failed";
        const state = stateOfInstance(slot);
        if (slot.state === "cancelled") continue; // it is removed, or has another job in a moment
        const slotOf = { controller, id, workloadId, service };
        this.#put(newInstance({ ...slotOf, jobId, state, isOver, isGoing: slot.removing }));
      }
      pageToken = nextPageToken;
    } while (pageToken !== undefined);
  }

  async #readJobs(): Promise<void> {
    let pageToken: string | undefined;
    do {
      const pageSize = limits.pageSizeMax;
      const filter = { labels: DOOR_LABEL };
      const page = await this.#operations.listJobBriefs(filter, { pageSize, pageToken });
      for (const job of page.jobs) this.#found(job);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  #found(job: JobBrief): void {
    const { id: jobId, name: id, labels, workload, instance: slot, submittedBy } = job;
    const { [CONTROLLER_LABEL]: controller, [WORKLOAD_LABEL]: workloadId } = labels;
    if (controller === undefined || workloadId === undefined) return;
    if (this.notes.has(jobId)) {
      const isLatest = !isRest(controller) && !this.has(controller, id);
      if (isLatest) this.notes.found(controller, id, { workloadId, jobId });
      return;
    }
    if (slot !== undefined) {
      const known = this.#byJob.get(Number(jobId));
      if (known !== undefined) known.definition = this.#shared(workload);
      return;
    }
    // Another door has copied the labels, as `busbar rerun` does: an id that its controller does not know would end it.
    if (submittedBy !== submitterOf(controller)) return;
    const state = stateOfJob(job);
    const isOver = hasEnded(job);
    if (state.status === ResourceStatus.TERMINATED && isRest(controller)) return;
    // Pages have the newest first: an older job of that name was replaced.
    if (this.has(controller, id)) return;
    const definition = this.#shared(workload);
    const names = { controller, id, workloadId, jobId };
    this.#put(newInstance({ ...names, definition, state, isOver }));
  }

  /** One text for equal definitions: many instances have the same, and each job was read with a text of its own. */
  #shared(definition: string | undefined): string | undefined {
    if (definition === undefined) return undefined;
    const known = this.#definitions.get(definition);
    if (known === undefined) this.#definitions.set(definition, definition);
    return known ?? definition;
  }

  #happened(event: FollowedEvent): void {
    if (event.kind === "task") {
      const instance = this.#byJob.get(event.jobId);
      if (instance !== undefined) this.change(instance, stateOfTask(event.task));
    } else if (event.kind === "job") {
      // The events of its task report a known instance, until it ends.
      if (event.isEnded || !this.#byJob.has(event.id)) this.#jobChanged(event.brief);
    } else if (event.kind === "service" && event.service.state === "removing") {
      this.#serviceEnds(event.service.name);
    } else if (event.kind === "removed" && event.what === "job") this.#removed(event.id);
    // Without a running instance a service is removed at once, and no event shows it as removing.
    else if (event.kind === "removed" && event.what === "service") this.#serviceEnds(event.id);
  }

  /** Slots whose jobs have ended have no further events. */
  #serviceEnds(service: string): void {
    for (const instance of this.all()) {
      if (instance.service === service && instance.isOver) this.#drop(instance);
    }
  }

  #jobChanged(job: JobBrief): void {
    const known = this.#byJob.get(Number(job.id));
    const instance = known ?? this.#newJob(job);
    if (instance === undefined) return;
    // The event of its task came before its controller was known.
    if (known === undefined) this.change(instance, stateOfJob(job));
    if (!hasEnded(job) || instance.isOver) return;
    instance.isOver = true;
    const { node, reason } = instance.state; // of the last event of its task
    const ended = stateOfJob(job);
    this.change(instance, { ...ended, reason: ended.reason === "" ? reason : ended.reason, node });
    // It may have failed before the order to destroy it arrived, which changed nothing of it then.
    const { isGoing } = instance;
    if (instance.service !== undefined) {
      // Its slot is removed, or has another job at once: that is an instance of the same name.
      if (isGoing || job.state === "cancelled") this.#drop(instance);
      else void this.dropRemoved([instance]);
    } else if (isGoing && ended.status === ResourceStatus.FAILED) {
      this.destroyed(instance, instance.state.reason);
    }
  }

  /** The instance of a job that was unknown: its event may come before the answer. */
  #newJob(job: JobBrief): RikInstance | undefined {
    const { id: jobId, name, labels, workload: definition, instance: slot } = job;
    const { [CONTROLLER_LABEL]: controller, [WORKLOAD_LABEL]: workloadId } = labels;
    if (controller === undefined || workloadId === undefined) return undefined;
    if (this.notes.has(jobId)) return undefined; // its id is that of another instance
    const known = this.find(controller, name);
    if (known !== undefined && known.jobId === undefined && !known.isOver) {
      this.submitted(known, jobId);
      known.definition = definition;
      return known;
    }
    // Slots get jobs without a request to this door: by a rollout, by `busbar scale`.
    if (slot === undefined || hasEnded(job) || Number(known?.jobId ?? 0) > Number(jobId))
      return undefined;
    if (known !== undefined) this.#drop(known);
    const { service } = slot;
    return this.add({
      controller,
      id: slot.name,
      workloadId,
      service,
      definition,
      jobId,
      home: undefined,
    });
  }

  /** Removed by age or number, long after its end. An end that its controller has not received stays known. */
  #removed(jobId: string): void {
    const instance = this.#byJob.get(Number(jobId));
    this.#byJob.delete(Number(jobId));
    this.notes.remove(jobId);
    if (instance === undefined || instance.isTold || instance.service !== undefined) return;
    if (instance.state.status === ResourceStatus.FAILED) {
      instance.jobId = undefined;
      this.refused(instance, instance.state.reason).catch(ignore);
    } else this.#drop(instance);
  }
}

/** The server is stopping or broken; the next one reads the same rows. */
const ignore = (): void => undefined;
