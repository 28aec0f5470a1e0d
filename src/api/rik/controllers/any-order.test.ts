import { expect, test } from "vitest";
import { ResourceStatus, WorkloadRequestKind } from "../../../gen/rik/v1/common_pb.ts";
import { anyOrderSeeds, choicesOf } from "../testing/choices.ts";
import {
  LIKE_RIK,
  POD,
  type RikBed,
  type TestController,
  type TestWorker,
  until,
  useRikBeds,
} from "../testing/rik-bed.ts";

const open = useRikBeds();
const { CREATING, FAILED, RUNNING, TERMINATED } = ResourceStatus;

const IDS = ["a", "ab", "b", "c", "d", "e"];
const STEPS = 60;

/** rik's controller: its database, and what ends it. */
class World {
  readonly rows = new Map<string, ResourceStatus>();
  readonly destroyed = new Set<string>();
  /** Of these the end may have been lost with a stream, as docs/coming-from/rik.md says: users destroy them again. */
  readonly unsure = new Set<string>();
  readonly log: string[] = [];
  readonly held = new Set<string>();
  controller!: TestController;
  worker!: TestWorker;
  #read = 0;
  #done = 0;
  readonly bed: RikBed;

  constructor(bed: RikBed) {
    this.bed = bed;
  }

  async subscribe(): Promise<void> {
    for (const id of this.destroyed) this.unsure.add(id);
    this.#read = 0;
    this.controller = await this.bed.controller(LIKE_RIK);
  }

  async register(): Promise<void> {
    this.#done = 0;
    this.held.clear();
    this.worker = await this.bed.worker("node-a", () => []);
    await this.worker.beat();
  }

  /** The statuses that have arrived, one after the other. */
  read(): void {
    for (; this.#read < this.controller.told.length; this.#read++) {
      const { status } = this.controller.told[this.#read]!;
      if (status.case !== "instance") continue;
      const { instanceId, status: now } = status.value;
      this.log.push(`told ${instanceId} ${now}`);
      if (!this.rows.has(instanceId)) throw new Error(`exits: ${instanceId} is ${now}, no row`);
      if (now === TERMINATED) {
        this.rows.delete(instanceId);
        this.destroyed.delete(instanceId);
        this.unsure.delete(instanceId);
      } else this.rows.set(instanceId, now);
    }
  }

  async create(id: string): Promise<void> {
    this.read();
    if (this.rows.has(id)) return;
    this.log.push(`create ${id}`);
    this.rows.set(id, ResourceStatus.PENDING);
    await this.controller.schedule(id, POD, "w1");
  }

  async destroy(id: string): Promise<void> {
    this.read();
    if (!this.rows.has(id)) return;
    this.log.push(`destroy ${id}`);
    this.destroyed.add(id);
    await this.controller.destroy(id);
  }

  /** The worker executes its next order, if there is one. */
  async work(fails: boolean): Promise<boolean> {
    const order = this.worker.orders[this.#done];
    if (order === undefined) return false;
    this.#done += 1;
    const { instanceId: id, action } = order;
    this.log.push(`order ${id} ${action} ${fails ? "fails" : ""}`);
    if (action === WorkloadRequestKind.CREATE) {
      if (this.held.has(id)) throw new Error(`a second create of ${id}`);
      await this.worker.tell(id, CREATING);
      if (!fails) this.held.add(id);
      await this.worker.tell(id, fails ? FAILED : RUNNING);
    } else if (this.held.delete(id)) await this.worker.tell(id, TERMINATED);
    return true;
  }

  /** An instance ends by itself. */
  async unasked(how: ResourceStatus): Promise<void> {
    const [id] = this.held;
    if (id === undefined) return;
    this.log.push(`${id} ends by itself: ${how}`);
    this.held.delete(id);
    const name = nameOf(id);
    if (how === TERMINATED && this.rows.has(name)) this.destroyed.add(name);
    await this.worker.tell(id, how);
  }
}

/** Two of one name on a worker differ by a number behind it. */
const nameOf = (id: string): string => id.split(".")[0] ?? "";

async function step(world: World, next: (below: number) => number): Promise<void> {
  const id = IDS[next(IDS.length)] ?? "a";
  const { bed } = world;
  const kind = next(20);
  if (kind < 5) await world.create(id);
  else if (kind < 9) await world.destroy(id);
  else if (kind < 15) await world.work(next(3) === 0);
  else if (kind < 17) bed.events.hold();
  else if (kind < 19) bed.events.release();
  else if (next(3) === 0) await world.unasked(next(2) === 0 ? FAILED : TERMINATED);
  else {
    const what = next(4);
    world.log.push(["controller", "worker", "server", "time"][what] ?? "");
    if (what === 0) {
      world.controller.close();
      await world.subscribe();
    } else if (what === 1) {
      world.worker.close();
      bed.events.release();
      await until(() => expect(bed.door.workers.count).toBe(0));
      await world.register();
    } else if (what === 2) {
      bed.events.release();
      await bed.restart();
      await world.subscribe();
      await world.register();
    } else bed.clock.advance(1_000 * next(8));
  }
}

/** Everything that is wanted runs or has failed, and nothing else is there. */
async function settle(world: World): Promise<void> {
  const { bed } = world;
  bed.events.release();
  for (const id of world.unsure) if (world.destroyed.has(id)) await world.destroy(id);
  let rounds = 0;
  await until(async () => {
    while (await world.work(false));
    world.read();
    rounds += 1;
    if (rounds % 5 === 0) {
      bed.clock.advance(1_000);
      await world.worker.beat();
    }
    const wrong = [...world.rows].filter(
      ([id, status]) =>
        world.destroyed.has(id) ||
        (status === RUNNING
          ? ![...world.held].some((one) => nameOf(one) === id)
          : status !== FAILED),
    );
    if (wrong.length > 0 && rounds > 50)
      throw new Error(`held ${[...world.held].join()} rows ${JSON.stringify(wrong)}`);
    if (wrong.length > 0) throw new Error("not yet");
    const unowned = [...world.held].filter((id) => !world.rows.has(nameOf(id)));
    if (unowned.length > 0) throw new Error(`nobody owns ${unowned.join()}`);
  });
}

for (const seed of anyOrderSeeds()) {
  test(`whatever comes first, a controller misses no end and gets none twice: seed ${seed}`, async () => {
    const next = choicesOf(seed);
    const world = new World(await open());
    await world.subscribe();
    await world.register();
    try {
      for (let at = 0; at < STEPS; at++) await step(world, next);
      await settle(world);
    } catch (error) {
      throw new Error(`${String(error)}\n${world.log.join("\n")}`, { cause: error });
    }
  });
}
