import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, machine } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { NodeFacts } from "../../src/core/model/node/node-facts.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
afterEach(() => site.close());

const osId = (): string | undefined =>
  /^ID="?([^"\n]+)"?$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];

/** A directory tree like spack's, and an MPI on the search path, which the machine need not have. */
function install(packages: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const root = site.path("spack");
  const index = join(root, "opt/spack/.spack-db/index.json");
  const installs = Object.entries(packages).map(([name, version]) => [
    `hash-of-${name}`,
    { spec: { name, version }, installed: true },
  ]);
  mkdirSync(dirname(index), { recursive: true });
  writeFileSync(index, JSON.stringify({ database: { installs: Object.fromEntries(installs) } }));
  const bin = site.path("bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "mpirun"), '#!/bin/sh\necho "mpirun (Open MPI) 4.1.99"\n');
  chmodSync(join(bin, "mpirun"), 0o755);
  return { SPACK_ROOT: root, PATH: `${bin}:${process.env["PATH"] ?? ""}` };
}

const startAgent = (env: NodeJS.ProcessEnv, ...flags: string[]) => {
  const args = ["agent", "--server", site.server, "--name", "w1", "--data", site.path("agent-w1")];
  return site.start([...args, ...flags], env);
};

const show = async (): Promise<NodeFacts | undefined> =>
  (await site.json<{ facts?: NodeFacts }>("nodes", "show", "w1")).facts;

const spackIs = (names: readonly string[]) =>
  eventually(
    async () => {
      const { facts = "{}" } = await site.client.getNode({ name: "w1" });
      const { software } = JSON.parse(facts) as NodeFacts;
      return software["spack"]?.map(({ name }) => name).join() === names.join();
    },
    { what: `spack to have ${names.join()}`, timeoutMs: 60_000 },
  );

describe("discovery", () => {
  test("a node shows its machine, in every state of server and agent", async () => {
    site = new Site();
    const env = install({ ior: "3.3.0" });
    const server = await site.startServer();
    const agent = startAgent(env);
    await site.nodeIs("w1", "connected");
    // With Hello, before any program ran.
    expect(await show()).toMatchObject({
      cores: availableParallelism(),
      software: { os: [{ name: osId() }], arch: [{ name: machine() }] },
    });

    await spackIs(["ior"]);
    const known = await show();
    expect(known?.software["mpi"]).toEqual([
      { name: "openmpi", version: "4.1.99", path: site.path("bin/mpirun") },
    ]);
    const rest = await fetch(`${site.http}/v1/nodes/w1`);
    expect(await rest.json()).toMatchObject({ name: "w1", address: "127.0.0.1", facts: known });
    const text = await site.run("nodes", "show", "w1");
    expect(text.stdout).toMatch(new RegExp(`^os +${osId()}`, "m"));
    expect(text.stdout).toMatch(/^Address: +127\.0\.0\.1$/m);
    expect(text.stdout).toMatch(/^spack +ior 3\.3\.0$/m);

    // A restarted server knows it, also while the agent is disconnected.
    await server.end("SIGKILL");
    await agent.end("SIGKILL");
    await site.startServer();
    expect(await show()).toEqual(known);

    // A restarted agent sends it at once; SIGHUP makes it discover again.
    const next = startAgent(env);
    await site.nodeIs("w1", "connected");
    expect(await show()).toEqual(known);
    install({ ior: "3.3.0", zlib: "1.3" });
    next.child.kill("SIGHUP");
    await spackIs(["ior", "zlib"]);
    expect(next.isOver).toBe(false);

    // Without discovery the server knows only the offered capacity.
    await next.end("SIGTERM");
    const blind = startAgent(env, "--no-discovery", "--cpu", "3");
    await site.nodeIs("w1", "connected");
    expect(await show()).toMatchObject({ cores: 3, sockets: 0, software: {} });
    await blind.end("SIGTERM");
    await site.nodeIs("w1", "disconnected");
  });

  test("extract makes a cluster of machines, without a server", async () => {
    site = new Site();
    const { stdout } = await site.run("extract", "--output", "json", "--name", "n1");
    writeFileSync(site.path("n1.json"), stdout);
    writeFileSync(site.path("n2.json"), stdout.replace('"name":"n1"', '"name":"n2"'));
    const files = [site.path("n1.json"), site.path("n2.json")];
    const args = ["extract", "--from", ...files, "--cluster", "east", "--out", site.path("east")];
    const { code, stderr } = await site.run(...args);
    expect([code, stderr]).toEqual([0, ""]);
    const graph = readFileSync(site.path("east/graph.json"), "utf8");
    const { nodes } = (JSON.parse(graph) as { graph: { nodes: Record<string, unknown> } }).graph;
    expect(nodes).toHaveProperty(["/east/n1"]);
    expect(nodes).toHaveProperty(["/east/n2"]);
    const os = readFileSync(site.path("east/os-subsystem.json"), "utf8");
    expect(os).toContain(`"name":"${osId()}"`);
    const again = await site.run(...args);
    expect([again.code, again.stdout]).toEqual([2, ""]);
    expect(again.stderr).toMatch(/graph\.json: already exists/);
  });
});
