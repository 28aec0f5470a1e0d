import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { invariant } from "../../src/lib/invariant.ts";
import { type Stage, stageOf } from "./stages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The parts of V8's format that are used here. Times are microseconds. */
interface ProfileFile {
  readonly nodes: readonly ProfileNode[];
  readonly startTime: number; // on the monotonic clock, which process.hrtime reads too
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

/** One function: its position, and its time without and with the functions that it called. */
export interface FunctionTime {
  readonly name: string;
  readonly place: string;
  readonly area: string;
  selfUs: number;
  totalUs: number;
}

export interface CpuProfile {
  readonly functions: readonly FunctionTime[];
  readonly stages: ReadonlyMap<Stage, number>;
  /** Without idle time. */
  readonly busyUs: number;
  readonly idleUs: number;
}

/** Sums the time of one thread by function, from this moment on. */
export function readProfile(file: string, fromUs: number): CpuProfile {
  const profile = JSON.parse(readFileSync(file, "utf8")) as ProfileFile;
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const selfUs = new Map<number, number>();
  let nowUs = profile.startTime;
  for (const [at, id] of profile.samples.entries()) {
    const tookUs = profile.timeDeltas[at] ?? 0;
    nowUs += tookUs;
    if (nowUs >= fromUs) selfUs.set(id, (selfUs.get(id) ?? 0) + tookUs);
  }
  const functions = new Map<string, FunctionTime>();
  const functionOf = ({ callFrame }: ProfileNode): FunctionTime => {
    const found = toFunction(callFrame);
    const key = `${found.name} ${found.place}`;
    const known = functions.get(key) ?? found;
    functions.set(key, known);
    return known;
  };
  const stages = new Map<Stage, number>();
  /** Returns the time of the subtree; a recursive function counts once. */
  const walk = (node: ProfileNode, above: ReadonlySet<FunctionTime>, outer: Stage): number => {
    const own = functionOf(node);
    const time = selfUs.get(node.id) ?? 0;
    own.selfUs += time;
    const stage = stageOf(own.name, own.place) ?? outer;
    if (own.name !== "(idle)") stages.set(stage, (stages.get(stage) ?? 0) + time);
    const inner = new Set(above).add(own);
    let total = time;
    for (const id of node.children ?? []) {
      const child = nodes.get(id);
      if (child !== undefined) total += walk(child, inner, stage);
    }
    if (!above.has(own)) own.totalUs += total;
    return total;
  };
  const [first] = profile.nodes;
  invariant(first !== undefined, "a profile has a root");
  const allUs = walk(first, new Set(), "other");
  const idleUs = [...functions.values()].find(({ name }) => name === "(idle)")?.selfUs ?? 0;
  return { functions: [...functions.values()], stages, busyUs: allUs - idleUs, idleUs };
}

function toFunction({ functionName, url, lineNumber }: ProfileNode["callFrame"]): FunctionTime {
  const path = url.startsWith("file://") ? relative(root, fileURLToPath(url)) : url;
  const name = functionName === "" ? "(anonymous)" : functionName;
  const place = path === "" ? "" : `${shorten(path)}:${lineNumber + 1}`;
  return { name, place, area: areaOf(name, path), selfUs: 0, totalUs: 0 };
}

const shorten = (path: string): string => path.replace(/^node_modules\//, "");

/** Our functions by folder, others by package, the rest by the activity of V8. */
function areaOf(name: string, path: string): string {
  if (name === "(idle)") return "idle";
  if (name === "(garbage collector)") return "garbage collector";
  if (path === "") return "native code"; // functions of C++ and V8's own work
  if (path.startsWith("node:")) return path.startsWith("node:sqlite") ? "node:sqlite" : "node";
  const own = /^(src\/[\w-]+|bench)\//.exec(path)?.[1];
  if (own !== undefined) return own;
  return /node_modules\/((?:@[\w.-]+\/)?[\w.-]+)/.exec(path)?.[1] ?? "other";
}
