import { describeChain } from "../../src/lib/errors.ts";
import { isAway, pause } from "./load.ts";
import type { World } from "./world.ts";

const NAME = "registered";
const SUBSYSTEM = "io";
const PAUSE_MS = 60; // between two updates

const contains = (source: string, target: string) => ({ source, target, relation: "contains" });
const GRAPH = JSON.stringify({
  graph: {
    nodes: {
      c: { metadata: { type: "cluster" } },
      n: { metadata: { type: "node" } },
      k: { metadata: { type: "core", size: 8 } },
    },
    edges: [contains("c", "n"), contains("n", "k")],
  },
});
const IO = JSON.stringify({
  graph: { nodes: { s: { metadata: { type: "shm" } } }, edges: [contains("n", "s")] },
});

/**
 * A cluster without agents that sends a rising number, whatever happens to the server. After every round its data must be complete, and no
 * acknowledged number lost.
 */
export class Registered {
  readonly problems: string[] = [];
  readonly #world: World;
  #documents = "";
  #asked = 0;
  #acknowledged = 0;
  #isStopping = false;
  #work: Promise<void> = Promise.resolve();

  constructor(world: World) {
    this.#world = world;
  }

  async start(): Promise<void> {
    const { client } = this.#world;
    await client.registerCluster({ name: NAME, graph: GRAPH });
    await client.addSubsystem({ cluster: NAME, name: SUBSYSTEM, graph: IO });
    this.#documents = await this.#read();
    this.#work = this.#tellOn();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#work;
  }

  async #tellOn(): Promise<void> {
    while (!this.#isStopping) {
      await pause(PAUSE_MS);
      const number = ++this.#asked;
      const values = { told: { value: { case: "number" as const, value: number } } };
      try {
        await this.#world.client.setClusterState({ cluster: NAME, values });
        this.#acknowledged = number;
      } catch (error) {
        if (!isAway(error)) this.problems.push(`${NAME} was refused: ${describeChain(error)}`);
      }
    }
  }

  /** To be called when the server is up. */
  async check(): Promise<void> {
    const acknowledged = this.#acknowledged; // more answers may arrive meanwhile
    const documents = await this.#read();
    if (documents !== this.#documents) {
      this.problems.push(`${NAME} was ${this.#documents} and became ${documents}`);
    }
    const { state } = await this.#world.client.getCluster({ name: NAME });
    const entry = state.find(({ key }) => key === "told")?.value?.value;
    const told = entry?.case === "number" ? entry.value : 0;
    if (told < acknowledged || told > this.#asked) {
      this.problems.push(`${NAME} had told ${acknowledged} to ${this.#asked}, and has ${told}`);
    }
  }

  async #read(): Promise<string> {
    const { client } = this.#world;
    const { graph } = await client.getClusterGraph({ name: NAME });
    const io = await client.getSubsystem({ cluster: NAME, name: SUBSYSTEM }).catch(describeChain);
    return `${graph} with ${typeof io === "string" ? io : io.graph}`;
  }
}
