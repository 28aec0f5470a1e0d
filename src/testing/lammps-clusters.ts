/**
 * 48 clusters with different software and hardware: 4 operating systems × 3 MPIs × with and without GPUs × 2 architectures, each a rack of
 * 4 nodes with 2 cores. After an experiment of the rainbow scheduler; as there, one of the four nodes has no links.
 */
export interface SimulatedCluster {
  readonly name: string;
  readonly graph: unknown;
  readonly subsystems: ReadonlyMap<string, unknown>;
  readonly has: Readonly<Record<string, string>>;
}

export const metadataOfClusters = {
  os: ["rocky8", "rocky9", "ubuntu20.04", "ubuntu22.04"].map((name) => `os.full=${name}`),
  mpi: ["intel-mpi", "mpich", "openmpi"].map((name) => `mpi.implementation=${name}`),
  hardware: ["yes", "no"].map((gpu) => `hardware.gpu.available=${gpu}`),
  "io.archspec": ["amd64", "arm64"].map((arch) => `cpu.target=${arch}`),
} as const;

/** How many clusters satisfy a request, by the features that it names. */
export const lammpsMatches: readonly (readonly [
  asked: readonly (keyof typeof metadataOfClusters)[],
  matches: number,
])[] = [
  [[], 48],
  [["io.archspec"], 24],
  [["os"], 12],
  [["mpi"], 16],
  [["hardware"], 24],
  [["io.archspec", "os"], 6],
  [["io.archspec", "os", "mpi"], 2],
  [["io.archspec", "os", "mpi", "hardware"], 1],
];

export function lammpsClusters(): readonly SimulatedCluster[] {
  const { os, mpi, hardware, "io.archspec": arch } = metadataOfClusters;
  return os.flatMap((osType) =>
    mpi.flatMap((mpiType) =>
      hardware.flatMap((gpuType) =>
        arch.map((archType, at): SimulatedCluster => {
          const has = { os: osType, mpi: mpiType, hardware: gpuType, "io.archspec": archType };
          const subsystems = Object.entries(has).map(
            ([name, type]) => [name, subsystemDocument(name, type)] as const,
          );
          const name = `${osType}-${mpiType}-${gpuType}-${at}`;
          return { name, graph: graphDocument(), subsystems: new Map(subsystems), has };
        }),
      ),
    ),
  );
}

const NODES = 4;
const PER_NODE = 4; // the node, its socket, two cores
const nodeId = (at: number): string => String(2 + at * PER_NODE);

function graphDocument(): unknown {
  const nodes: Record<string, unknown> = {
    "0": { metadata: { type: "cluster" } },
    "1": { metadata: { type: "rack" } },
  };
  const edges = [both("0", "1")];
  for (let at = 0; at < NODES; at++) {
    const first = 2 + at * PER_NODE;
    const [node, socket] = [String(first), String(first + 1)];
    nodes[node] = { metadata: { type: "node" } };
    nodes[socket] = { metadata: { type: "socket" } };
    edges.push(both("1", node), both(node, socket));
    for (const core of [String(first + 2), String(first + 3)]) {
      nodes[core] = { metadata: { type: "core" } };
      edges.push(both(socket, core));
    }
  }
  return { graph: { nodes, edges: edges.flat() } };
}

function subsystemDocument(name: string, type: string): unknown {
  const nodes = {
    [`${name}0`]: { metadata: { type: name } },
    [`${name}1`]: { metadata: { type } },
  };
  const linked = [0, 1, 2].map((at) => both(nodeId(at), `${name}1`));
  return { graph: { nodes, edges: linked.flat() } };
}

const both = (outer: string, inner: string) => [
  { source: outer, target: inner, relation: "contains" },
  { source: inner, target: outer, relation: "in" },
];
