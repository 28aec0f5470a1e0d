import { afterEach, beforeEach } from "vitest";
import { runHere } from "./context.ts";
import { startFakeServer } from "./fake-server.ts";

export const GRAPH = '{"graph": {"nodes": {"0": {"metadata": {"type": "cluster"}}}}}';
export const IO = JSON.stringify({
  graph: {
    nodes: { io0: { metadata: { type: "io" } }, io1: { metadata: { type: "shm" } } },
    edges: [
      { source: "2", target: "io1", relation: "contains" },
      { source: "io1", target: "2", relation: "in" },
    ],
  },
});
const files: Record<string, string> = {
  "graph.json": GRAPH,
  "io.json": IO,
  "-": GRAPH,
  "state.json": '{"nodes_free": 20, "old": null, "zone": "north"}',
  "rules.yaml": '- priority: 1\n  steps:\n  - filter: "nodes_free > 0"\n',
  "rainbow.yaml": "priorities: |\n  - priority: 1\n    steps:\n    - select: random\n",
  "key.json": '{"key": "cost"}',
};

/** A fake server for each test of the file, and the CLI that calls it. */
export function useClusterCli() {
  let server: Awaited<ReturnType<typeof startFakeServer>>;
  beforeEach(async () => {
    server = await startFakeServer();
  });
  afterEach(() => server.close());

  async function busbar(line: string, more: Record<string, string> = {}) {
    const known: Record<string, string> = { ...files, ...more };
    const env = { BUSBAR_SERVER: server.address };
    const readInput = async (path: string) => Buffer.from(known[path] ?? "");
    const { code, stdout, stderr } = await runHere(line.split(" "), { env, readInput });
    return { code, stdout, stderr };
  }
  const json = async (line: string): Promise<unknown> => {
    const { stdout } = await busbar(`${line} --output json`);
    return JSON.parse(stdout);
  };
  const said = (stdout: string) => ({ code: 0, stdout: `${stdout}\n`, stderr: "" });
  const register = (name: string) => busbar(`cluster register ${name} --graph graph.json`);
  return { busbar, json, said, register, server: () => server };
}
