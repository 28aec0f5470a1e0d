import { simulate } from "./simulation.ts";
const from = Number(process.argv[2] ?? 1), n = Number(process.argv[3] ?? 20);
const verbose = process.argv[4] === "v";
const t = performance.now();
for (let seed = from; seed < from + n; seed++) {
  const o = await simulate({ seed, ...(verbose ? { print: (l: string) => console.log(l) } : {}) });
  console.log(o.seed, o.hash.slice(0, 8), o.events, o.executions, o.restarts, o.commits, o.virtualMs, o.failure?.message ?? "ok");
}
console.log(((performance.now() - t) / n).toFixed(0), "ms per seed");
