import { describe, expect, test } from "vitest";
import { clusterGraph } from "../../core/graph/facts.ts";
import { countsByType } from "../../core/graph/graph.ts";
import { parseGraphText, parseJson, toJgf } from "../../core/graph/jgf.ts";
import { parseSubsystem } from "../../core/graph/subsystems/subsystem.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import { AppError } from "../../lib/errors.ts";
import type { Context } from "../context.ts";
import { renderMachine } from "../render/facts.ts";
import { runHere } from "../testing/context.ts";

const facts: NodeFacts = {
  cores: 8,
  sockets: 2,
  numa: 2,
  memoryBytes: 16 * 1024 ** 3,
  gpus: 1,
  others: { license: 3 },
  software: {
    os: [{ name: "ownos", version: "12", codename: "fish" }],
    cpu: [{ vendor: "us", family: 6 }, ..."abcdefgh".split("").map((feature) => ({ feature }))],
    spack: [
      { name: "ior", version: "3.3.0" },
      { name: "zlib", version: "1.3" },
    ],
  },
};
const another: NodeFacts = { ...facts, software: { os: [{ name: "another" }] } };

const never = () => Promise.reject(new Error("not asked for"));
const files: Readonly<Record<string, string>> = {
  "n1.json": JSON.stringify({ name: "n1", ...facts }),
  "n2.json": JSON.stringify({ name: "n2", ...another }),
  "half.json": JSON.stringify({ name: "n3", ...facts, cores: 0.5 }),
  "nameless.json": JSON.stringify(facts),
  "text.json": "hello",
};

async function run(line: string) {
  const written: Record<string, string> = {};
  const given: Partial<Context> = {
    services: {
      up: never,
      server: never,
      agent: never,
      extract: async () => facts,
      recover: never,
      restore: never,
      saveBackup: never,
      units: never,
    },
    readInput: async (path) => {
      const text = files[path];
      if (text === undefined) throw new AppError("invalid_argument", `no file ${path}`);
      return Buffer.from(text);
    },
    writeNewFiles: async (folder, texts) => {
      for (const [name, text] of Object.entries(texts)) written[`${folder}/${name}`] = text;
      return Object.keys(written);
    },
  };
  return { ...(await runHere(line.split(" "), given)), written };
}

describe("extract", () => {
  test("prints the facts of the machine, lists wrapped", () => {
    const page = { width: 44, colour: false, nowMs: 0 };
    expect(renderMachine("n1", facts, page)).toBe(`Node:            n1
Cores:           8
Sockets:         2
Memory domains:  2
Memory:          16GiB
Gpus:            1
Others:          license=3

os     ownos 12 (codename=fish)
cpu    vendor=us, family=6
       feature: a b c d e f g h
spack  ior 3.3.0, zlib 1.3`);
    const many = {
      ...facts,
      software: {
        cpu:
          facts.software["cpu"]
            ?.slice(1)
            .concat(..."ijklmnopqrstuvw".split("").map((feature) => ({ feature }))) ?? [],
      },
    };
    expect(renderMachine("n1", many, page).split("\n").slice(-2)).toEqual([
      "cpu  feature: a b c d e f g h i j k l m n o",
      "     p q r s t u v w",
    ]);
  });

  test("as JSON it is the input of --from", async () => {
    const { code, stdout } = await run("extract --name n1 --output json");
    expect(code).toBe(0);
    expect(stdout).toBe(`${files["n1.json"]}\n`);
    expect((await run("extract --from n1.json -o json")).stdout).toBe(stdout);
    const both = await run("extract --from n1.json n2.json -o json");
    expect(JSON.parse(both.stdout)).toMatchObject({ nodes: [{ name: "n1" }, { name: "n2" }] });
  });

  test("--graph prints the cluster of all machines, --subsystem one of its subsystems", async () => {
    const printed = await run("extract --from n1.json n2.json --cluster east --graph");
    const graph = parseGraphText(printed.stdout);
    const nodes = ["n1", "n2"].map((name) => ({ ...facts, name }));
    expect(toJgf(graph)).toEqual(toJgf(clusterGraph("east", nodes)));
    expect(countsByType(graph)).toMatchObject({ node: 2, core: 16, gpu: 2, license: 6 });
    const subsystem = await run(
      "extract --from n1.json n2.json --cluster east --subsystem os -o json",
    );
    const os = parseSubsystem("os", parseJson(subsystem.stdout), graph);
    expect(os.vertices.map(({ id }) => id)).toEqual(["os/another", "os/ownos@12"]);
    expect(os.links.size).toBe(2);
  });

  test("--out writes one file for each", async () => {
    const { code, stdout, written } = await run("extract --name n1 --out east");
    expect(code).toBe(0);
    expect(stdout.trim().split("\n")).toEqual([
      "east/graph.json",
      "east/cpu-subsystem.json",
      "east/os-subsystem.json",
      "east/spack-subsystem.json",
    ]);
    const graph = parseGraphText(written["east/graph.json"] ?? "");
    const spack = parseJson(written["east/spack-subsystem.json"] ?? "");
    expect(parseSubsystem("spack", spack, graph).vertices).toHaveLength(2);
  });

  const refused: readonly [string, number, RegExp][] = [
    ["extract --graph --subsystem os", 2, /--subsystem: cannot be combined with --graph/],
    ["extract --subsystem mpi", 1, /there is no "mpi"; found were: cpu, os, spack/],
    ["extract --cluster a/b", 2, /--cluster: "a\/b" is not a name/],
    ["extract --from n1.json --name n9", 2, /--name: cannot be combined with --from/],
    ["extract --from none.json", 2, /no file none.json/],
    ["extract --from text.json", 2, /text.json: is not JSON/],
    ["extract --from half.json", 2, /half.json.cores: must be a whole number/],
    ["extract --from nameless.json", 2, /nameless.json.name: must be the name of a node/],
    ["extract --from n1.json n1.json --graph", 2, /nodes\[1\].name: appears twice/],
  ];
  for (const [line, code, message] of refused) {
    test(`rejected: ${line}`, async () => {
      const ran = await run(line);
      expect([ran.code, ran.stdout]).toEqual([code, ""]);
      expect(ran.stderr).toMatch(message);
    });
  }
});
