import { afterEach, beforeEach, expect } from "vitest";
import type { RunId } from "../../ports/executor.ts";
import type { Random } from "../../ports/random.ts";
import { FakeClock, settle } from "../../testing/fake-clock.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import type { Agent, AgentOptions } from "../agent.ts";
import { createAgent } from "../agent.ts";
import { FakeExecutor } from "./fake-executor.ts";
import { FakeServer } from "./fake-server.ts";

export const run = (jobId: number, index = 0, attempt = 1): RunId => ({ jobId, index, attempt });
export const wire = (id: RunId) => ({ job: id.jobId, index: id.index, attempt: id.attempt });
export const random: Random = { fraction: () => 0.5, token: () => "" };

/** An agent on a fake clock, between an executor and a server that the test controls. */
export class AgentBed {
  clock = new FakeClock();
  executor = new FakeExecutor();
  server = new FakeServer();
  controller = new AbortController();
  /** "stopped", or the error that ended the agent. */
  result: Promise<unknown> = Promise.resolve();
  started: Agent | undefined = undefined;

  get agent(): Agent {
    if (this.started === undefined) throw new Error("the test has not started the agent");
    return this.started;
  }

  start(options: Partial<AgentOptions> = {}): void {
    this.started = createAgent({
      name: "n1",
      cluster: "c1",
      capacity: { cpu: 4_000 },
      labels: { os: "linux" },
      agentKey: "k".repeat(32),
      bootId: "boot",
      version: "1",
      executor: this.executor,
      connect: this.server.connect,
      clock: this.clock,
      random,
      logger: silentLogger,
      ...options,
    });
    this.result = this.started.run(this.controller.signal).then(
      () => "stopped",
      (error: unknown) => error,
    );
  }

  /** Starts the agent, and the server sends Welcome. */
  async welcomed(options: Partial<AgentOptions> = {}): Promise<void> {
    this.start(options);
    this.server.last.welcome();
    await settle();
  }

  sendStarts(job: number, ids: readonly RunId[], arraySize = 0): void {
    const spec = { job, argv: ["true"], env: { A: "1", BUSBAR_NODE: "forged" }, arraySize };
    this.server.last.send({ case: "work", value: { specs: [spec], starts: ids.map(wire) } });
  }
}

/** A new bed for each test; at the end the agent stops and no timer is left. */
export function useAgentBed(): AgentBed {
  const bed = new AgentBed();
  beforeEach(() => void Object.assign(bed, new AgentBed()));
  afterEach(async () => {
    bed.controller.abort();
    await bed.result;
    expect(bed.clock.timers).toBe(0);
  });
  return bed;
}
