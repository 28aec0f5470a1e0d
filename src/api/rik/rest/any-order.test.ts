import { expect, test } from "vitest";
import { ResourceStatus, WorkloadRequestKind } from "../../../gen/rik/v1/common_pb.ts";
import { anyOrderSeeds, choicesOf } from "../testing/choices.ts";
import type { InstanceScheduling } from "../../../gen/rik/v1/worker_pb.ts";
import { likeRiklet, type RikBed, type TestWorker, until, useRikBeds } from "../testing/rik-bed.ts";
import { type Ask, instances, json, pod, useRikRest } from "../testing/rik-rest.ts";

const open = useRikBeds();
const serve = useRikRest();

const STEPS = 60;
const NAMES = ["a", "b", "c", "d"];
const IMAGES = ["alpine:1", "alpine:2", "bad:1", "alpine:3"];

const unlessBad = (order: InstanceScheduling): ResourceStatus[] =>
  order.action === WorkloadRequestKind.CREATE && order.definition.includes("bad:")
    ? [ResourceStatus.CREATING, ResourceStatus.FAILED]
    : likeRiklet(order);

interface Shown {
  readonly id: string;
  readonly name: string;
}

const workloads = async (ask: Ask): Promise<Shown[]> =>
  json(await ask("GET", "workloads.list")) as Shown[];

class User {
  readonly log: string[] = [];
  ask!: Ask;
  #worker!: TestWorker;
  readonly bed: RikBed;
  constructor(bed: RikBed) {
    this.bed = bed;
  }
  async begin(): Promise<void> {
    this.ask = await serve(this.bed);
    this.#worker = await this.bed.readyWorker("node-a", unlessBad);
  }

  /** The worker stays: it sends a heartbeat. */
  async advance(ms: number): Promise<void> {
    await this.#worker.beat();
    this.bed.clock.advance(ms);
  }

  async post(route: string, body: object): Promise<void> {
    const { status, text } = await this.ask("POST", route, body);
    this.log.push(`${route} ${JSON.stringify(body).slice(0, 120)} ${status} ${text.slice(0, 80)}`);
    if (status === undefined || status >= 500) throw new Error(`${route} ${status} ${text}`);
  }
}

async function step(user: User, next: (below: number) => number): Promise<void> {
  const { bed, ask } = user;
  const name = NAMES[next(NAMES.length)] ?? "a";
  const all = await workloads(ask);
  const id = all.length === 0 ? "none" : (all[next(all.length)]?.id ?? "none");
  const kind = next(24);
  const image = IMAGES[next(IMAGES.length)] ?? "";
  if (kind < 2 || id === "none") await user.post("workloads.create", pod(`w${next(3)}`, image));
  else if (kind < 7) await user.post("instances.create", { workload_id: id, name });
  else if (kind < 12) await user.post("instances.delete", { id: name });
  else if (kind < 14) {
    const own = all.find((one) => one.id === id)?.name ?? "";
    await user.post("workloads.update", { id, value: pod(own, image), min_ready_ms: 0 });
  } else if (kind < 15) await user.post("workloads.rollback", { id });
  else if (kind < 16) await user.post("workloads.delete", { id });
  else if (kind < 17) await user.post("workloads.scale", { id, replicas: next(4) });
  else if (kind < 20) bed.events.hold();
  else if (kind < 22) bed.events.release();
  else if (kind < 23) await user.advance(1_000 * next(8));
  else if (next(2) === 0) {
    user.log.push("server");
    bed.events.release();
    await bed.restart();
    await user.begin();
  }
}

/** What REST users see is what runs. */
async function settle(user: User): Promise<void> {
  const { bed, ask } = user;
  bed.events.release();
  let rounds = 0;
  await until(async () => {
    rounds += 1;
    if (rounds % 4 === 0) await user.advance(1_000);
    const { jobs } = await bed.plane.operations.listJobs({}, { pageSize: 1_000 });
    const live = jobs.filter(({ state }) => !["cancelled", "failed", "succeeded"].includes(state));
    const shown = (await instances(ask)).map(({ id, value }) => `${id} ${value.status}`).sort();
    const running = live.map(
      ({ spec, state }) => `${spec.name} ${state === "running" ? "Running" : state}`,
    );
    const { services } = await bed.plane.operations.listServices({ pageSize: 100 });
    const left = shown.filter((one) => !one.endsWith(" Failed") && !one.endsWith(" Terminated"));
    expect(left).toEqual(running.sort());
    expect(running.filter((one) => !one.endsWith(" Running"))).toEqual([]);
    expect(services.filter(({ state }) => state === "removing")).toEqual([]);
    const known = new Set((await workloads(ask)).map(({ id }) => id));
    expect(services.length).toBe(known.size);
    const slots: string[] = [];
    for (const { name } of services) {
      const page = await bed.plane.operations.listInstances(name, { pageSize: 1_000 });
      slots.push(...page.instances.map((slot) => slot.name));
    }
    expect((await instances(ask)).map(({ id }) => id).sort()).toEqual(slots.sort());
  });
}

for (const seed of anyOrderSeeds()) {
  test(`whatever comes first, REST users see what runs: seed ${seed}`, async () => {
    const next = choicesOf(seed);
    const user = new User(await open());
    await user.begin();
    try {
      for (let at = 0; at < STEPS; at++) await step(user, next);
      await settle(user);
    } catch (error) {
      throw new Error(`${String(error)}\n${user.log.join("\n")}`, { cause: error });
    }
  });
}
