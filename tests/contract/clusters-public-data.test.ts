import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createGrpcServer, type GrpcServer } from "../../src/api/grpc/server.ts";
import { busbarService } from "../../src/api/native/grpc/service.ts";
import { runHere } from "../../src/cli/testing/context.ts";
import { createClient } from "../../src/client/client.ts";
import { readInput } from "../../src/system/input.ts";
import {
  lammpsClusters,
  lammpsMatches,
  metadataOfClusters,
} from "../../src/testing/lammps-clusters.ts";
import { aPlane, type TestPlane } from "../../src/testing/plane.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";

/** Published files of others, unchanged, by the command line and over the wire. */
const data = fileURLToPath(new URL("../../../shared/data/", import.meta.url));
const isThere = existsSync(join(data, "rainbow"));
const skipped = isThere ? "" : " (skipped: the public data is not there)";
const scheduler = join(data, "rainbow/scheduler");

let plane: TestPlane;
let grpc: GrpcServer;
beforeAll(async () => {
  ({ plane } = await aPlane());
  const services = [busbarService(plane.operations, silentLogger)];
  grpc = await createGrpcServer({ address: "127.0.0.1:0", services, logger: silentLogger });
});
afterAll(async () => {
  await grpc.close();
  await plane.close();
});

async function busbar(...argv: string[]) {
  const env = { BUSBAR_SERVER: grpc.address };
  const { code, stdout, stderr } = await runHere(argv, { env, readInput });
  return { code, stdout, stderr };
}

describe.skipIf(!isThere)(`rainbow's scheduler example${skipped}`, () => {
  const file = (name: string): string => join(scheduler, name);

  test("with its subsystem and state can run its jobs, and cannot without", async () => {
    const graph = file("cluster-nodes.json");
    expect((await busbar("cluster", "register", "--name", "blue", "--graph", graph)).stdout).toBe(
      "cluster blue registered: 1 cluster, 36 core, 3 node, 1 rack, 3 socket\n",
    );
    expect((await busbar("subsystem", "add", file("cluster-io-subsystem.json"))).stdout).toBe(
      "subsystem io added to cluster blue: 6 vertices, 15 links\n",
    );
    const state = await busbar("state", "set", "--file", file("cluster-state.json"));
    expect(state).toMatchObject({ code: 0, stdout: expect.stringMatching(/nodes_free +20 /) });
    expect(await busbar("satisfy", file("jobspec-io.yaml"))).toEqual({
      code: 0,
      stdout: "CLUSTER  EVER  NOW  SLOTS\nblue     yes   yes      3\n",
      stderr: "",
    });
    await busbar("subsystem", "remove", "io");
    expect(await busbar("satisfy", file("jobspec-io.yaml"))).toEqual({
      code: 1,
      stdout: "CLUSTER  EVER  NOW  WHY NOT\nblue     no    no   no node with io type=shm\n",
      stderr: "",
    });
  });

  test("rules use the state and the parameter of the jobspec", async () => {
    const config = parse(readFileSync(file("rainbow-selection-config.yaml"), "utf8")) as {
      scheduler: { algorithms: { selection: { options: { priorities: string } } } };
    };
    const { options } = config.scheduler.algorithms.selection;
    const reads =
      (given: string): typeof readInput =>
      (path, bytesMax) =>
        path === "rules" ? Promise.resolve(Buffer.from(given)) : readInput(path, bytesMax);
    const ask = async (rules: string) => {
      const job = file("jobspec-constraint.yaml");
      const line = ["satisfy", job, "--select", "constraint", "--select-options", "rules"];
      const env = { BUSBAR_SERVER: grpc.address };
      return (await runHere(line, { env, readInput: reads(rules) })).stdout;
    };
    expect(await ask(options.priorities)).toContain("\nconstraint selects blue\n");
    expect(await ask(JSON.stringify(options))).toContain("\nconstraint selects blue\n");
    const cost = "3 * 200 * 0.4 / 3600";
    const steps = [
      { calc: "cost = cost_per_node_hour * memory_per_node * seconds_per_gb / 3600" },
      { filter: `cost < ${cost} - 0.001` },
    ];
    expect(await ask(JSON.stringify([{ priority: 1, steps }]))).toContain("selects none\nnot blue");
  });

  test("valid ranges match, the others do not", async () => {
    const range = join(data, "rainbow/match-algorithms/range");
    await busbar("cluster", "delete", "blue");
    await busbar("cluster", "register", "green", "--graph", join(range, "cluster-nodes.json"));
    const spack = join(range, "spack-subsystem.json");
    expect((await busbar("subsystem", "add", "--name", "spack", spack)).code).toBe(0);
    expect((await busbar("satisfy", join(range, "jobspec-valid-range.yaml"))).code).toBe(0);
    expect(await busbar("satisfy", join(range, "jobspec-invalid-range.yaml"))).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("no node with spack version 0.7.1 to 0.7.5"),
    });
    await busbar("cluster", "delete", "green");
  });
});

interface Fleet {
  readonly name: string;
  readonly graph: string;
  readonly subsystems: readonly (readonly [string, string])[];
}

/** Registers all, and counts those that could run two nodes with these types of subsystems. */
async function countsOf(fleet: readonly Fleet[], wanted: Readonly<Record<string, string>>) {
  const client = createClient({ server: grpc.address });
  try {
    for (const { name, graph, subsystems } of fleet) {
      await client.registerCluster({ name, graph });
      for (const [subsystem, document] of subsystems) {
        await client.addSubsystem({ cluster: name, name: subsystem, graph: document });
      }
    }
    const counts: number[] = [];
    for (const [asked] of lammpsMatches) {
      const requires = asked.map((subsystem) => ({
        subsystem,
        conditions: [{ kind: "one-of", field: "type", values: [wanted[subsystem]] }],
      }));
      const tree = { type: "node", count: 2, requires, with: [{ type: "core", count: 2 }] };
      const value = JSON.stringify([[tree]]);
      counts.push((await client.satisfy({ ask: { case: "request", value } })).ever.length);
    }
    for (const { name } of fleet) await client.deleteCluster({ name });
    return counts;
  } finally {
    client.close();
  }
}

describe("the lammps experiment over the wire", () => {
  test("48 generated clusters", async () => {
    const fleet = lammpsClusters().map(({ graph, subsystems }, at) => ({
      name: `cluster-${at}`,
      graph: JSON.stringify(graph),
      subsystems: [...subsystems].map(([name, each]) => [name, JSON.stringify(each)] as const),
    }));
    expect(fleet).toHaveLength(48);
    const wanted = Object.entries(metadataOfClusters).map(([name, [first]]) => [name, first]);
    const counts = await countsOf(fleet, Object.fromEntries(wanted) as Record<string, string>);
    expect(counts).toEqual(lammpsMatches.map(([, count]) => count));
  });

  test.skipIf(!isThere)(`48 published clusters${skipped}`, async () => {
    const folder = join(data, "lammps/clusters");
    const read = (...path: string[]): string => readFileSync(join(folder, ...path), "utf8");
    const names = readdirSync(folder).filter((name) => name.startsWith("cluster-"));
    const fleet = names.map((name) => ({
      name,
      graph: read(name, "nodes.json"),
      subsystems: readdirSync(join(folder, name)).flatMap((each) => {
        const [, subsystem] = /^(.*)-subsystem\.json$/.exec(each) ?? [];
        return subsystem === undefined ? [] : [[subsystem, read(name, each)] as const];
      }),
    }));
    const { jobspecs } = parse(readFileSync(join(data, "lammps/jobspecs.yaml"), "utf8")) as {
      jobspecs: { resources: Record<string, Record<string, string>> }[];
    };
    const wanted = Object.entries(jobspecs[0]?.resources ?? {}).map(([subsystem, fields]) => {
      const [[key, value] = ["", ""]] = Object.entries(fields);
      return [subsystem, `${key}=${value}`];
    });
    const counts = await countsOf(fleet, Object.fromEntries(wanted) as Record<string, string>);
    expect(counts).toEqual(lammpsMatches.map(([, count]) => count));
  });
});
