import { hostileYaml } from "./hostile-yaml.ts";

/** Numbers from a seed, from 0 up to, not including, 1: the same seed gives the same inputs. */
export function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const JOBSPEC = `version: 1
resources: {some: {type: node, count: 2, with: [{type: core, count: 4}]}}
requires: {gpu: [{field: type, match: a100}]}
groups:
- {name: g, resources: some, tasks: [{name: a, command: [echo, hi]}, {name: b, command: x, depends_on: [a]}]}
tasks:
- {group: g}
- {name: c, script: "#!/bin/sh\\ntrue", resources: some|some, depends_on: [g], replicas: 3}
attributes: {duration: 3600, environment: {A: b}, parameter: {x: 1}}
`;
const FLUX =
  '{"version":1,"resources":[{"type":"slot","label":"t","count":1,"with":[{"type":"core","count":2}]}],' +
  '"tasks":[{"command":["a"],"slot":"t","count":{"per_slot":1}}],"attributes":{"system":{"duration":1}}}';
const GRAPH =
  '{"graph":{"nodes":{"0":{"metadata":{"type":"cluster"}},"1":{"label":"n","metadata":{"type":"node","size":1,' +
  '"unit":"","x":{"y":[1,"z"]}}}},"edges":[{"source":"0","target":"1","relation":"contains"},' +
  '{"source":"1","target":"0","relation":"in"}]}}';
const PRIORITIES = `- priority: 1
  steps:
  - filter: "nodes_free >= 2 and (not [odd-name] == 'x' or min(a, 3) < -b * 2)"
  - calc: "build_cost = (seconds * cost) / 60"
  - sort_descending: build_cost
  - select: random
`;
const JOB =
  '{"command":["a","b"],"env":{"A":"b"},"labels":{"x":"y"},"array":"1-10:2,20","resources":{"cpu":1,"memory":1},' +
  '"retries":{"max":2},"timeLimitMs":5,"priority":3,"placement":{"kind":"managed","labels":{"a":"b"}},' +
  '"select":{"strategy":"constraint","options":{"priorities":"- {priority: 1, steps: [{select: first}]}"}}}';
const REQUEST =
  '[[{"type":"node","count":2,"exclusive":true,"with":[{"type":"slot","count":2,"label":"t","with":' +
  '[{"type":"memory","count":4,"unit":"GiB"}]}],"requires":[{"subsystem":"software","conditions":[]}]}]]';

const SEEDS: readonly string[] = [
  JOBSPEC,
  FLUX,
  GRAPH,
  PRIORITIES,
  JOB,
  REQUEST,
  ...Object.values(hostileYaml).map((make) => make(20)),
];

const WORDS: readonly string[] = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ": ",
  "- ",
  "? ",
  ",",
  "&a ",
  "*a",
  "!!str ",
  "!t ",
  "| \n",
  ">",
  "%TAG ! x\n",
  "\n",
  "\n\n",
  "\r\n",
  "\t",
  " ",
  "  ",
  "#",
  " # x\n",
  '"',
  "'",
  "\\",
  "\\u0000",
  "---\n",
  "...\n",
  "<<: *a",
  "\u0000",
  "\u001f",
  "\u0002",
  "\u0018",
  "\ufeff",
  "\ud800",
  "\u{1f600}",
  "é",
  "__proto__",
  "constructor",
  "1e999",
  "-0",
  "0x1F",
  "9".repeat(40),
  ".nan",
  ".inf",
  "null",
  "true",
  "~",
  "NaN",
  "1.5",
  "-1",
  '"version":1',
  "version: 1\n",
  "tasks:",
  "resources",
  "count",
  "depends_on",
  "with",
  "type",
  "priority",
  "(",
  ")",
  "((",
  "not ",
  "min(",
  " and ",
  "==",
  "= ",
  "/ 0",
  "[x]",
  "|",
  "||",
  "%",
];

const LENGTH_MAX = 6_000;

/** One text: valid, or already invalid, with a few parts made wrong. */
export function hostileText(random: () => number): string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  let text = pick(SEEDS);
  for (let change = Math.floor(random() * 8); change >= 0; change--) {
    const at = Math.floor(random() * (text.length + 1));
    const length = Math.floor(random() ** 3 * Math.min(200, text.length));
    const part = text.slice(at, at + length);
    const [before, after] = [text.slice(0, at), text.slice(at + length)];
    const other = pick(SEEDS);
    const change = pick(["cut", "word", "repeat", "splice", "swap", "many"] as const);
    if (change === "cut") text = before + after;
    else if (change === "word") text = before + pick(WORDS) + part + after;
    else if (change === "repeat") text = before + part.repeat(Math.floor(random() * 30)) + after;
    else if (change === "splice") text = before + other.slice(Math.floor(random() * other.length));
    else if (change === "swap") text = after + part + before;
    else text = before + pick(WORDS).repeat(Math.floor(random() ** 2 * 500)) + after;
    text = text.slice(0, LENGTH_MAX);
  }
  return text;
}

/** Bytes of a message: any, or a few fields, some of them texts as above. */
export function hostileBytes(random: () => number): Uint8Array {
  const parts: Buffer[] = [];
  const byte = (): number => Math.floor(random() * 256);
  for (let count = Math.floor(random() * 6); count >= 0; count--) {
    if (random() < 0.2) parts.push(Buffer.from(Array.from({ length: byte() % 20 }, byte)));
    else if (random() < 0.3) parts.push(Buffer.from([(byte() % 16) * 8, byte() % 128]));
    else {
      const text = Buffer.from(hostileText(random).slice(0, 120));
      const isWrong = random() < 0.1;
      parts.push(
        Buffer.from([(1 + (byte() % 12)) * 8 + 2, isWrong ? byte() : text.length % 128]),
        text,
      );
    }
  }
  return Buffer.concat(parts);
}
