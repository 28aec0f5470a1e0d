import { limits } from "../src/limits.ts";

/** A request that takes the server as long as limits allow. */
export interface WorstRequest {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

const list = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const toBody = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** Lines up to the longest jobspec. */
function fill(line: (at: number) => string): string {
  const lines: string[] = [];
  let left = limits.jobspecCharsMax - 100;
  for (let at = 0; left > 0; at++) {
    const next = line(at);
    left -= next.length + 1;
    if (left > 0) lines.push(next);
  }
  return lines.join("\n");
}

/** Jobspecs that take longest to read. */
export const worstJobspecs = (): readonly WorstRequest[] =>
  [
    fill((at) => `k${at}: 1`),
    fill((at) => `k${at}: &a${at} 1\nb${at}: *a${at}`),
    fill(() => "- - - - x"),
    fill(() => "- !!str 1"),
    `a: "${"\\q".repeat(limits.jobspecCharsMax / 2 - 100)}"`,
    fill((at) => `? k${at}\n: |\n  x`),
  ].map((jobspec) => ({
    method: "POST",
    path: "/v1/jobspecs/try",
    body: toBody({ jobspec }),
  }));

export const IRREGULAR = "irregular";
const NODES = 20_000;

/** A cluster in which no two nodes are equal: the matcher compares each request with all of them. */
export const irregularCluster = (): WorstRequest => ({
  method: "POST",
  path: "/v1/clusters",
  body: toBody({ name: IRREGULAR, graph: irregularGraph() }),
});

const irregularGraph = () => ({
  nodes: Object.fromEntries([
    ["0", { metadata: { type: "cluster" } }],
    ...list(NODES, (at) => [`n${at}`, { metadata: { type: "node" } }]),
    ...list(NODES, (at) => [`c${at}`, { metadata: { type: "core", size: at + 1 } }]),
  ]) as unknown,
  edges: [
    ...list(NODES, (at) => ({ source: "0", target: `n${at}`, relation: "contains" })),
    ...list(NODES, (at) => ({ source: `n${at}`, target: `c${at}`, relation: "contains" })),
  ],
});

const asking = (cores: number) => [[{ type: "node", with: [{ type: "core", count: cores }] }]];

/** Documents of every other kind; none of their jobs is submitted, and the clusters stay unchanged. */
export function worstDocuments(): readonly WorstRequest[] {
  const jobs = list(15_000, (at) => ({ command: ["true"], request: asking(at + 1) }));
  const links = (at: number) => ({
    source: `n${at % 2_000}`,
    target: `p${at}`,
    relation: "contains",
  });
  const subsystem = (last: object) => ({
    graph: {
      nodes: Object.fromEntries(
        list(50_000, (at) => [`p${at}`, { metadata: { type: "package", version: `1.${at}` } }]),
      ) as unknown,
      edges: [...list(50_000, links), last],
    },
  });
  const broken = { source: "missing", target: "p0", relation: "contains" };
  const graph = irregularGraph();
  const resources = Object.fromEntries(
    list(3_000, (at) => [
      `r${at}`,
      { type: "node", count: 1, with: [{ type: "core", count: at + 1 }] },
    ]),
  );
  const tasks = list(3_000, (at) => ({ name: `t${at}`, command: ["true"], resources: `r${at}` }));
  const jobspec = JSON.stringify({ version: 1, resources, tasks });
  const path = `/v1/clusters/${IRREGULAR}/subsystems`;
  return [
    { method: "POST", path: "/v1/jobs", body: toBody({ jobs }) },
    { method: "POST", path: "/v1/jobs/try", body: toBody({ jobs }) },
    { method: "POST", path: "/v1/jobspecs", body: toBody({ jobspec }) },
    { method: "POST", path: "/v1/satisfy", body: toBody({ jobspec }) },
    { method: "PUT", path: `${path}/good`, body: toBody(subsystem(links(0))) },
    { method: "PUT", path: `${path}/broken`, body: toBody(subsystem(broken)) },
    {
      method: "POST",
      path: "/v1/clusters",
      body: toBody({ name: IRREGULAR, graph: { ...graph, edges: [...graph.edges, broken] } }),
    },
    { method: "GET", path: `/v1/clusters/${IRREGULAR}/graph`, body: Buffer.alloc(0) },
  ];
}
