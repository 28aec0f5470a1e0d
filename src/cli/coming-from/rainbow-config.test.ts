import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readRainbowConfig } from "./rainbow-config-file.ts";
import { planImport } from "./rainbow-import.ts";
import { runHere } from "../testing/context.ts";
import { startFakeServer } from "../testing/fake-server.ts";

let server: Awaited<ReturnType<typeof startFakeServer>>;
beforeEach(async () => {
  server = await startFakeServer();
});
afterEach(() => server.close());

/** As rainbow's server and clients write it, with all keys. */
const CONFIG = `scheduler:
    secret: secret-of-registration
    name: keebler
    user: { name: ada }
    algorithms:
        selection:
            name: constraint
            options:
                priorities: |
                    - priority: 1
                      steps:
                      - filter: "nodes_free >= 2"

                      - select: random
        match:
            name: match
            options:
                strict: "true"
cluster:
    name: keebler
    secret: a216a23a-0909-4c52-b45e-7ace4d82c09e
graphdatabase:
    name: memory
    host: 127.0.0.1:50051
    options:
        host: 127.0.0.1:50052
        backupFile: /tmp/x
clusters:
    - name: keebler
      token: token-of-keebler
    - name: spack-builder
      token: token-of-spack
      colour: blue
    - name: bare
colour: green
`;
const SECRETS = [
  "secret-of-registration",
  "a216a23a-0909-4c52-b45e-7ace4d82c09e",
  "token-of-keebler",
  "token-of-spack",
];

async function busbar(line: string, content = CONFIG) {
  const env = { BUSBAR_SERVER: server.address };
  const readInput = async (path: string) =>
    Buffer.from(path === "graph.json" ? "{}" : path === "-" ? CONFIG : content);
  const { code, stdout, stderr } = await runHere(line.split(" "), { env, readInput });
  return { code, stdout, stderr };
}
const register = (name: string) => busbar(`cluster register ${name} --graph graph.json`);

describe("rainbow-config import", () => {
  test("prints the meaning of every key, and no secret", async () => {
    await register("keebler");
    const told = await busbar("rainbow-config import dir/rainbow-config.yaml --dry-run");
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatchInlineSnapshot(`
      "KEY                                                BECOMES                                         HOW
      scheduler.secret                                   the secret for registering clusters             would be set
      scheduler.name                                     nothing: names are written where they are used
      scheduler.user                                     nothing: there are no user accounts yet
      scheduler.algorithms.selection.name                --select constraint                             at the server's start
      scheduler.algorithms.selection.options.priorities  in the file of --select-options                 at the server's start
      scheduler.algorithms.match.name                    nothing: every requirement of a jobspec counts
      scheduler.algorithms.match.options.strict          nothing: every requirement of a jobspec counts
      cluster.name                                       names the cluster of the secret
      cluster.secret                                     the secret of cluster keebler                   would be set
      clusters[0].token                                  the token of cluster keebler                    would be set
      clusters[1].token                                  the token of cluster spack-builder              not done: busbar cluster register spack-builder --graph FILE, then import again
      clusters[2].name                                   nothing: it has no token
      graphdatabase.name                                 nothing: the server stores graphs itself
      graphdatabase.host                                 nothing: no client of this server needs it
      graphdatabase.options.host                         --rainbow 127.0.0.1:50052                       at the server's start
      graphdatabase.options.backupFile                   nothing: no client of this server needs it
      clusters[1].colour                                 nothing: rainbow does not read it either
      colour                                             nothing: rainbow does not read it either

      Start the server with:  busbar server --select constraint --select-options select.yaml --rainbow 127.0.0.1:50052

      select.yaml:
      priorities: |
        - priority: 1
          steps:
          - filter: "nodes_free >= 2"

          - select: random
      "
    `);
    expect(server.asked.credentials).toEqual([]);
    const done = await busbar("rainbow-config import -");
    expect(done.stdout).toBe(told.stdout.replaceAll("would be set", "set"));
    const json = await busbar("rainbow-config import a --output json");
    for (const { stdout, stderr } of [told, done, json]) {
      for (const secret of SECRETS) expect(stdout + stderr).not.toContain(secret);
    }
  });

  test("sends values that the server stores, once and together", async () => {
    await register("keebler");
    await register("bare");
    await busbar("rainbow-config import a");
    expect(server.asked.credentials).toEqual([
      {
        registerSecret: "secret-of-registration",
        clusters: [{ name: "keebler", secret: SECRETS[1], token: "token-of-keebler" }],
      },
    ]);
  });

  test("prints the same as JSON", async () => {
    await register("keebler");
    const { stdout } = await busbar("rainbow-config import a --dry-run --output json");
    expect(JSON.parse(stdout)).toMatchObject({
      dryRun: true,
      keys: expect.arrayContaining([
        {
          key: "scheduler.secret",
          becomes: "the secret for registering clusters",
          kind: "apply",
        },
        {
          key: "clusters[1].token",
          becomes: "the token of cluster spack-builder",
          kind: "blocked",
          hint: "busbar cluster register spack-builder --graph FILE, then import again",
        },
      ]) as unknown,
      server: {
        flags: [
          "--select",
          "constraint",
          "--select-options",
          "select.yaml",
          "--rainbow",
          "127.0.0.1:50052",
        ],
        selectOptions: { priorities: expect.stringMatching(/^- priority: 1\n/) as string },
      },
      warnings: [],
    });
  });

  test("a file with nothing to store sends nothing to the server", async () => {
    const empty = "scheduler:\n  secret:\ncluster:\n  secret: ''\nclusters:\n";
    const { code, stdout } = await busbar("rainbow-config import a", empty);
    expect(code).toBe(0);
    expect(stdout).toBe("KEY             BECOMES\ncluster.secret  nothing: it is empty\n");
    expect(server.asked.credentials).toEqual([]);
  });

  test("warns about well-known default secrets", async () => {
    await register("red");
    const config =
      "scheduler: { secret: chocolate-cookies }\nclusters: [{ name: red, token: rainbow }]";
    expect((await busbar("rainbow-config import a", config)).stderr.split("\n")).toEqual([
      "busbar: scheduler.secret is a default that rainbow publishes: it is no secret",
      "busbar: clusters[0].token is a default that rainbow publishes: it is no secret",
      "",
    ]);
  });

  test("the output names a missing database that rainbow would need", async () => {
    const config = "graphdatabase: { name: memgraph, host: bolt://localhost:7687 }";
    const { stdout } = await busbar("rainbow-config import a --output json", config);
    expect(JSON.parse(stdout)).toMatchObject({
      keys: [
        {
          key: "graphdatabase.name",
          kind: "blocked",
          hint: "the server uses no memgraph; register the clusters with their graphs",
        },
        { key: "graphdatabase.host", kind: "none" },
      ],
      server: { flags: [] },
    });
  });

  const wrong: readonly [string, string, string][] = [
    ["a list for a text", "scheduler:\n  secret: [a]", "2:11: scheduler.secret: must be a text"],
    ["a text for a map", "scheduler: a", "1:12: scheduler: must be a map of keys and values"],
    ["a map for a list", "clusters: {a: b}", "1:11: clusters: must be a list"],
    ["no name", "clusters:\n- token: t", "2:3: clusters[0]: needs a name"],
    ["one twice", "clusters: [{name: a}, {name: a}]", "clusters[1]: there are two named a"],
    ["no map at all", "[]", "1:1: must be a map of keys and values"],
    ["no YAML", "a: [", "x.yaml:1:"],
    ["nothing", "", "x.yaml: is empty"],
    ["several documents", "a: 1\n---\nb: 2", "x.yaml: has several documents"],
  ];
  for (const [name, content, message] of wrong) {
    test(`rejects ${name}, with its position`, async () => {
      const { code, stderr } = await busbar("rainbow-config import x.yaml", content);
      expect(code).toBe(2);
      expect(stderr).toContain(message);
      expect(server.asked.credentials).toEqual([]);
    });
  }
});

describe("rainbow-config export", () => {
  test("prints a file for rainbow's clients, with new credentials", async () => {
    await register("keebler");
    const { code, stdout, stderr } = await busbar("rainbow-config export --rotate");
    expect(code).toBe(0);
    expect(stdout).toMatchInlineSnapshot(`
      "scheduler:
        name: "keebler"
        algorithms:
          selection:
            name: "random"
          match:
            name: "match"
      cluster:
        name: "keebler"
        secret: "fresh-secret"
      graphdatabase:
        name: "memory"
        host: "127.0.0.1:50051"
        options:
          host: "127.0.0.1:50051"
      clusters:
        - name: "keebler"
          token: "fresh-token"
      "
    `);
    expect(stderr).toContain("not shown again");
    const read = readRainbowConfig(stdout, "x");
    expect(read).toMatchObject({
      cluster: { name: { text: "keebler" }, secret: { text: "fresh-secret" } },
      clusters: [{ name: { text: "keebler" }, token: { text: "fresh-token" } }],
      unknown: [],
    });
    const plan = planImport(read, new Set(["keebler"]));
    expect(plan.request.clusters).toEqual([
      { name: "keebler", secret: "fresh-secret", token: "fresh-token" },
    ]);
  });

  test("for users has no secret, and does not rotate it", async () => {
    await register("keebler");
    const line = "rainbow-config export --rotate --token-only --host a:1 --output json";
    expect(JSON.parse((await busbar(line)).stdout)).toMatchObject({
      cluster: { name: "keebler" },
      graphdatabase: { host: "a:1", options: { host: "a:1" } },
      clusters: [{ name: "keebler", token: "fresh-token" }],
    });
    expect((await busbar(line)).stdout).not.toContain("fresh-secret");
  });

  test("creates nothing without the flag", async () => {
    await register("keebler");
    for (const line of ["rainbow-config export", "rainbow-config export --rotate --host a"]) {
      expect((await busbar(line)).code).toBe(2);
    }
    expect((await busbar("rainbow-config export")).stderr).toContain("--rotate: is missing");
  });
});

describe("what rainbow's file says", () => {
  test("texts stay as written, whatever YAML would make of them", () => {
    const config = "scheduler: { secret: 00123 }\ncluster: { name: yes, secret: 1e3 }";
    expect(readRainbowConfig(config, "x")).toMatchObject({
      registerSecret: { text: "00123" },
      cluster: { name: { text: "yes" }, secret: { text: "1e3" } },
    });
  });

  test("no plan shows a secret, and everything that can be stored is requested", () => {
    const text = fc.stringMatching(/^[A-Z0-9]{12,20}$/);
    const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 });
    fc.assert(
      fc.property(text, text, names, names, (secret, token, listed, registered) => {
        const clusters = listed.map((name, at) => ({ name, token: `${token}-${at}` }));
        const content = JSON.stringify({ scheduler: { secret }, clusters });
        const known = new Set(registered);
        const { request, ...told } = planImport(readRainbowConfig(content, "x"), known);
        expect(JSON.stringify(told)).not.toContain(secret);
        expect(JSON.stringify(told)).not.toContain(token);
        expect(request).toEqual({
          registerSecret: secret,
          clusters: clusters.filter(({ name }) => known.has(name)),
        });
      }),
    );
  });
});
