import { describe, expect, test } from "vitest";
import type { FluxAnswer } from "./flux-command.ts";
import { createFluxSource, observationOf } from "./flux-source.ts";
import { nodesOf, parseHostlist, parseIdset } from "./resources.ts";

describe("lists of hosts", () => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    ["", []],
    ["blue", ["blue"]],
    ["blue,red", ["blue", "red"]],
    ["blue[0-2,7],red", ["blue0", "blue1", "blue2", "blue7", "red"]],
    ["n[08-11]-x", ["n08-x", "n09-x", "n10-x", "n11-x"]],
  ];
  for (const [text, want] of table) test(text, () => expect(parseHostlist(text)).toEqual(want));

  test("sets of numbers, and invalid ones", () => {
    expect(parseIdset("0-2,5")).toEqual([0, 1, 2, 5]);
    expect(parseIdset("[3]")).toEqual([3]);
    expect(parseIdset("")).toEqual([]);
    for (const text of ["a", "1-", "0-999999999", "1;2"]) {
      expect(() => parseIdset(text)).toThrow(/flux resource R/);
    }
  });
});

const R = JSON.stringify({
  version: 1,
  execution: {
    R_lite: [
      { rank: "0,2", children: { core: "0-3", gpu: "0-1" } },
      { rank: 1, children: { core: "0-7" } },
    ],
    nodelist: ["blue[0-2]"],
    starttime: 0,
    expiration: 0,
  },
});

describe("nodes", () => {
  test("each rank is a node, in the order of ranks", () => {
    expect(nodesOf(R).map(({ name, cores, gpus }) => [name, cores, gpus])).toEqual([
      ["blue0", 4, 2],
      ["blue1", 8, 0],
      ["blue2", 4, 2],
    ]);
  });

  test("brokers that share a host are distinguished by rank", () => {
    const names = nodesOf(R.replace("blue[0-2]", "vm,vm,vm")).map(({ name }) => name);
    expect(names).toEqual(["rank0", "rank1", "rank2"]);
  });

  test("other answers are rejected", () => {
    expect(nodesOf("{}")).toEqual([]);
    expect(nodesOf("null")).toEqual([]);
    expect(() => nodesOf("no")).toThrow(/does not answer JSON/);
  });
});

describe("free capacity", () => {
  test("whole nodes are those without any allocation", () => {
    const resources = "free|13|1|0-2\nallocated|3|3|2\ndown|8|0|3\n";
    expect(observationOf(resources, "SCHED\nRUN\nDEPEND\nCLEANUP\n")).toEqual({
      state: {
        nodes_total: 4,
        nodes_free: 2,
        cores_total: 24,
        cores_free: 13,
        gpus_free: 1,
        running: 2,
        queue_length: 2,
      },
      free: { cpu: 13_000, gpu: 1, nodes: 2 },
    });
  });

  test("a cluster without free nodes has no free capacity", () => {
    const nothing = observationOf("free|0|0|\nallocated|0|0|\ndown|0|0|\n", "");
    expect(nothing.free).toEqual({ cpu: 0, gpu: 0, nodes: 0 });
  });
});

test("a source queries Flux, and throws when Flux does not answer", async () => {
  const answers: Record<string, string> = { R, list: "free|16|4|0-2", "-A": "" };
  const source = createFluxSource(
    async ([, word = ""]) => ({ exitCode: 0, stdout: answers[word] ?? "", stderr: "" }),
    "blue",
  );
  const { graph } = await source.describe();
  expect(Object.keys(graph.graph.nodes)).toContain("/blue/blue1/core");
  expect((await source.observe()).state["nodes_free"]).toBe(3);
  const broken = createFluxSource(
    async () => ({ exitCode: 1, stdout: "", stderr: "Unable to connect\n" }),
    "blue",
  );
  for (const asked of [broken.describe(), broken.observe()]) {
    await expect(asked).rejects.toMatchObject({ code: "unavailable" });
  }
});

describe("memory, which Flux does not report", () => {
  const GIB = 1024 ** 3;
  const sourceThat = (exec: () => FluxAnswer) =>
    createFluxSource(async ([command]) => {
      return command === "exec" ? exec() : { exitCode: 0, stdout: R, stderr: "" };
    }, "blue");
  const memoryOf = async (source: ReturnType<typeof sourceThat>): Promise<unknown[]> => {
    const { nodes } = (await source.describe()).graph.graph;
    return [0, 1, 2].map((at) => nodes[`/blue/blue${at}/memory`]?.metadata?.["size"]);
  };
  const line = (rank: number, gib: number): string => `${rank}: MemTotal: ${gib * 1024 ** 2} kB\n`;

  test("comes from the machines themselves; each is asked until it has answered", async () => {
    let asked = 0;
    const source = sourceThat(() => {
      asked += 1;
      return asked === 1
        ? { exitCode: 1, stdout: line(2, 4) + line(0, 2), stderr: "1: No route to host\n" }
        : { exitCode: 0, stdout: line(0, 2) + line(1, 3) + line(2, 4), stderr: "" };
    });
    expect(await memoryOf(source)).toEqual([2 * GIB, undefined, 4 * GIB]);
    expect(await memoryOf(source)).toEqual([2 * GIB, 3 * GIB, 4 * GIB]);
    expect(await memoryOf(source)).toEqual([2 * GIB, 3 * GIB, 4 * GIB]);
    expect(asked).toBe(2);
  });

  test("is omitted where the agent may not ask", async () => {
    const source = sourceThat(() => ({ exitCode: 1, stdout: "", stderr: "not permitted\n" }));
    expect(await memoryOf(source)).toEqual([undefined, undefined, undefined]);
  });
});
