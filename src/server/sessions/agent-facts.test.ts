import { describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { limits } from "../../limits.ts";
import type { Store } from "../../ports/store.ts";
import { createMemoryStore } from "../../store/memory/memory-store.ts";

const aPlane = usePlanes();

async function openPlane() {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) };
  const memory = createMemoryStore();
  const written: string[] = [];
  const commit: Store["commit"] = (batch) => {
    written.push(...batch.writes.map(({ key }) => key));
    return memory.commit(batch);
  };
  const { plane } = await aPlane({ store: { ...memory, commit }, logger });
  return { plane, warnings, written };
}

async function connect(plane: TestPlane, name: string, factsJson = ""): Promise<FakeAgent> {
  const agent = new FakeAgent(plane);
  agent.hello(name, { factsJson });
  await eventually(() => agent.told.includes("welcome"), { what: `${name} to be welcomed` });
  return agent;
}

const facts = (os: string) => JSON.stringify({ cores: 99, software: { os: [{ name: os }] } });
const osOf = async (plane: TestPlane, name: string) =>
  (await plane.operations.getNode(name)).facts?.software["os"]?.[0]?.["name"];
const osIs = (plane: TestPlane, name: string, os: string) =>
  eventually(async () => (await osOf(plane, name)) === os, { what: `${name} to have ${os}` });
const tell = (agent: FakeAgent, json: string) => agent.say({ case: "facts", value: { json } });

describe("facts of machines", () => {
  test("of an agent that sends none follow from its capacity", async () => {
    const { plane } = await openPlane();
    await connect(plane, "w1");
    const { facts: shown } = await plane.operations.getNode("w1");
    expect(shown).toMatchObject({ cores: 4, memoryBytes: 0, gpus: 0, software: {} });
  });

  test("come with Hello, are shown with one node and not in lists, with the offered cores", async () => {
    const { plane } = await openPlane();
    await connect(plane, "w1", facts("debian"));
    const { facts: shown } = await plane.operations.getNode("w1");
    expect(shown).toMatchObject({ cores: 4, software: { os: [{ name: "debian" }] } });
    const { nodes } = await plane.operations.listNodes({}, {});
    expect(nodes[0]).not.toHaveProperty("facts");
    expect(await plane.operations.drainNode("w1", "")).not.toHaveProperty("facts");
  });

  test("are replaced within a session; of many updates at once the last one counts", async () => {
    const { plane, written } = await openPlane();
    const agent = await connect(plane, "w1", facts("debian"));
    for (let at = 0; at < 50; at++) tell(agent, facts(`os-${at}`));
    await osIs(plane, "w1", "os-49");
    // With Hello, the first, and the newest once that was stored.
    expect(written.filter((key) => key === "facts/w1")).toHaveLength(3);
    tell(agent, facts("debian"));
    await osIs(plane, "w1", "debian");
  });

  test("of equal machines are stored once in memory", async () => {
    const { plane } = await openPlane();
    await connect(plane, "w1", facts("debian"));
    await connect(plane, "w2", facts("debian"));
    const [w1, w2] = await Promise.all(["w1", "w2"].map((name) => plane.operations.getNode(name)));
    expect(w1?.facts?.software["os"]).toEqual([{ name: "debian" }]);
    expect(w2?.facts?.software["os"]).toBe(w1?.facts?.software["os"]);
  });

  const wrong: readonly [string, string][] = [
    ["no JSON", "{"],
    ["a list", "[]"],
    ["half a socket", '{"sockets":0.5}'],
    ["too long", JSON.stringify({ x: "x".repeat(limits.factsCharsMax) })],
  ];
  for (const [name, json] of wrong) {
    test(`that are invalid do not make the server refuse an agent, and are logged once: ${name}`, async () => {
      const { plane, warnings } = await openPlane();
      const agent = await connect(plane, "w1", json);
      tell(agent, json);
      tell(agent, facts("debian"));
      await osIs(plane, "w1", "debian");
      tell(agent, json);
      tell(agent, facts("rocky"));
      await osIs(plane, "w1", "rocky");
      expect(warnings).toMatchObject([{ node: "w1" }]);
      expect(agent.isClosed).toBe(false);
    });
  }
});
