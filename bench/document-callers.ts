import { Agent, request } from "node:http";
import { percentile } from "./support/numbers.ts";
import { irregularCluster, worstDocuments, worstJobspecs } from "./worst-documents.ts";

/** The order of the bench to this process, as JSON in its first argument. */
export interface DocumentOptions {
  /** "http://127.0.0.1:7070". */
  readonly base: string;
  readonly work:
    /** Calls the health check and submits a small job, in turn, for so long. */
    | { readonly kind: "probe"; readonly forMs: number }
    /** So many callers send the worst jobspecs, or other documents, in turn, until they are stopped. */
    | {
        readonly kind: "flood";
        readonly callers: number;
        readonly documents: "jobspecs" | "others";
      }
    /** Registers a graph of about so many bytes, and then updates it until it is stopped. */
    | { readonly kind: "register"; readonly bytes: number };
}

export interface ProbeResult {
  readonly calls: number;
  readonly healthMsP99: number;
  readonly healthMsMax: number;
  readonly submitMsP99: number;
  readonly submitMsMax: number;
}

const { base, work } = JSON.parse(process.argv[2] ?? "") as DocumentOptions;
const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });

function send(method: string, path: string, body?: string | Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined
        ? {}
        : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(`${base}${path}`, { method, headers, agent }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(answer.statusCode ?? 0));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function timed(tookMs: number[], call: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  await call();
  tookMs.push(performance.now() - startMs);
}

const PAUSE_MS = 10;
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

async function probe(forMs: number): Promise<ProbeResult> {
  const [health, submit]: [number[], number[]] = [[], []];
  const job = JSON.stringify({ command: ["true"] });
  await send("GET", "/healthz"); // the first one loads the door
  await send("POST", "/v1/jobs", job);
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    await timed(health, () => send("GET", "/healthz"));
    await timed(submit, () => send("POST", "/v1/jobs", job));
    await pause();
  }
  return {
    calls: health.length + submit.length,
    healthMsP99: percentile(health, 0.99),
    healthMsMax: Math.max(...health),
    submitMsP99: percentile(submit, 0.99),
    submitMsMax: Math.max(...submit),
  };
}

async function flood(callers: number, documents: "jobspecs" | "others"): Promise<never> {
  if (documents === "others") {
    const { method, path, body } = irregularCluster();
    await send(method, path, body);
  }
  const all = documents === "jobspecs" ? worstJobspecs() : worstDocuments();
  const one = async (first: number): Promise<never> => {
    for (let at = first; ; at++) {
      const next = all[at % all.length];
      if (next === undefined) throw new Error("nothing to send");
      const { method, path, body } = next;
      await send(method, path, body.length === 0 ? undefined : body).then(count, () => pause());
    }
  };
  process.stdout.write("flooding\n");
  await Promise.all(Array.from({ length: callers }, (_, at) => one(at)));
  throw new Error("a flood does not end by itself");
}

/** The number of answers with each status. */
const answered = new Map<number, number>();
const count = (status: number): void => void answered.set(status, (answered.get(status) ?? 0) + 1);

/** Nodes of 50 cores, in the form of other programs. */
function graphOf(bytes: number): { readonly body: Buffer; readonly vertices: number } {
  const nodes: string[] = [];
  const edges: string[] = [];
  let size = 0;
  const add = (list: string[], text: string): void => {
    list.push(text);
    size += text.length + 1;
  };
  const put = (type: string, inside: number): number => {
    const id = nodes.length;
    add(nodes, `"${id}":{"metadata":{"type":"${type}"}}`);
    if (id > 0) add(edges, `{"source":"${inside}","target":"${id}","relation":"contains"}`);
    return id;
  };
  put("cluster", 0);
  for (let least = 0; least < bytes - 10_000; least = size) {
    const node = put("node", 0);
    for (let core = 0; core < 50; core++) put("core", node);
  }
  const graph = `{"graph":{"nodes":{${nodes.join()}},"edges":[${edges.join()}]}}`;
  return {
    body: Buffer.from(`{"name":"large","update":true,"graph":${graph}}`),
    vertices: nodes.length,
  };
}

switch (work.kind) {
  case "probe":
    process.stdout.write(`probed ${JSON.stringify(await probe(work.forMs))}\n`);
    break;
  case "flood":
    process.on("SIGTERM", () => {
      process.stdout.write(`answered ${JSON.stringify(Object.fromEntries(answered))}\n`);
      process.exit(0);
    });
    await flood(work.callers, work.documents);
    break;
  case "register": {
    const { body, vertices } = graphOf(work.bytes);
    process.stdout.write(`registering ${vertices}\n`);
    for (let times = 1; ; times++) {
      const status = await send("POST", "/v1/clusters", body);
      process.stdout.write(`registered ${times} times, answered ${status}\n`);
    }
  }
}
process.exit(0);
