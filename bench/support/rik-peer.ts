import { connect } from "node:net";
import { join } from "node:path";
import { lastingAddress } from "../../tests/support/lasting-address.ts";
import type { Loaded } from "../../tests/conformance/support/rik.ts";
import { median, waitUntil } from "./numbers.ts";
import type { Child, ChildOptions } from "./child.ts";
import { readCpu } from "./proc.ts";
import type { Site } from "./site.ts";

/** A controller's measurements, and its own CPU time. */
export type Loading = Loaded & { readonly cpuMs: number };

export interface RikLoad {
  /** Begins the ids of its instances. */
  readonly id: string;
  readonly count: number;
  readonly callers: number;
  readonly rate?: number;
}

/**
 * A worker or a controller of tests/conformance/rik. One thread each is enough for their work: with more, a fifth of the machine's CPU goes
 * into passing it on between them, which the scheduler lacks.
 */
export const startRikProgram = (
  site: Site,
  path: string,
  args: readonly string[],
  options?: ChildOptions,
): Child => site.start(path, args, { ...options, env: { GOMAXPROCS: "1" } });

/** A controller that makes one load after the other. Another one would first receive the statuses of all earlier instances. */
export class LoadingController {
  readonly #child: Child;

  /** `address`: where controllers dial. */
  constructor(site: Site, programs: string, address: string) {
    const args = ["-address", address, "-quiet"];
    this.#child = startRikProgram(site, join(programs, "controller"), args, { takesInput: true });
  }

  async load(request: RikLoad): Promise<Loading> {
    await this.#child.prints(/"event":"(subscribed)"/);
    const before = this.#cpuMs();
    this.#child.write(`${JSON.stringify({ do: "load", ...request })}\n`);
    const ended = new RegExp(`(\\{[^\\n]*"event":"loaded"[^\\n]*"id":"${request.id}"[^\\n]*\\})`);
    const line = await this.#child.prints(ended, 200_000);
    const loaded = JSON.parse(line) as Loaded;
    if (!loaded.done) throw new Error(`not all instances ran: ${line}`);
    return { ...loaded, cpuMs: this.#cpuMs() - before };
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }

  #cpuMs(): number {
    const { main, others } = readCpu(this.#child.pid);
    return main + others;
  }
}

/** The path of rik's own scheduler; undefined: it is not compared. */
export const rikScheduler = process.env["RIK_SCHEDULER"];

const ROUNDS = 5;

/**
 * The median of several loads of rik's own scheduler, each with a new process: it stores nothing, and stops for ever after about 2,400 instances.
 */
export async function loadRik(
  { site, programs }: { readonly site: Site; readonly programs: string },
  request: Omit<RikLoad, "id">,
  read: (loaded: Loading) => number,
): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const workers = await lastingAddress();
    const controllers = await lastingAddress();
    const scheduler = site.start(rikScheduler ?? "", ["-w", workers, "-c", controllers]);
    for (const address of [workers, controllers]) await isUp(address);
    const args = ["-address", workers, "-count", "1", "-quiet", "-one-stream"];
    const worker = startRikProgram(site, join(programs, "worker"), args);
    const controller = new LoadingController(site, programs, controllers);
    await controller.load({ id: "first", count: 1, callers: 1 }); // until the worker is ready
    values.push(read(await controller.load({ id: "many", ...request })));
    for (const each of [controller, worker, scheduler]) await each.stop();
  }
  return median(values);
}

const isUp = (address: string): Promise<void> =>
  waitUntil(`${address} to listen`, () => answers(address), { everyMs: 20, timeoutMs: 30_000 });

const answers = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [host, port] = address.split(":");
    const socket = connect(Number(port), host);
    socket.once("error", () => resolve(false));
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
  });
