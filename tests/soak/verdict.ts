import { quantile, type Minute, type Usage } from "./minutes.ts";

/** How much more the last minutes may hold than those after the warm-up. */
export const tolerance = {
  memoryFraction: 0.2,
  descriptors: 15, // connections that open and close
  threads: 2,
} as const;

/** The growth, in words; none: it is flat. */
export function judge(minutes: readonly Minute[]): string[] {
  const { warm, late } = periods(minutes);
  if (warm.length === 0) return ["too short to judge: run for three minutes or more"];
  return [
    ...compare("server", of(warm, "server"), of(late, "server")),
    ...compare("agent", of(warm, "agent"), of(late, "agent")),
    ...zombies(minutes),
  ];
}

/** Minutes 3 and 4 against the last two; a shorter run has its second minute and its last. */
export function periods(minutes: readonly Minute[]): { warm: Minute[]; late: Minute[] } {
  if (minutes.length < 3) return { warm: [], late: [] };
  if (minutes.length < 6) return { warm: minutes.slice(1, 2), late: minutes.slice(-1) };
  return { warm: minutes.slice(2, 4), late: minutes.slice(-2) };
}

const of = (minutes: readonly Minute[], part: "server" | "agent"): readonly Usage[] =>
  minutes.map((minute) => minute[part]);

function* compare(name: string, warm: readonly Usage[], late: readonly Usage[]): Generator<string> {
  const pair = (pick: (usage: Usage) => number): [number, number] => [
    quantile(warm.map(pick), 0.5),
    quantile(late.map(pick), 0.5),
  ];
  for (const [what, pick] of [
    ["memory", ({ rssBytes }: Usage) => rssBytes],
    ["heap", ({ heapBytes }: Usage) => heapBytes],
  ] as const) {
    const [before, after] = pair(pick);
    // The heap varies by its young generation; a leak shows in the memory too.
    const most = before * (1 + tolerance.memoryFraction * (what === "heap" ? 2 : 1));
    if (after > most) yield `${name}: ${what} grew from ${mib(before)} to ${mib(after)}`;
  }
  const [before, after] = pair(({ descriptors }) => descriptors);
  if (after > before + tolerance.descriptors) {
    yield `${name}: open descriptors grew from ${before} to ${after}`;
  }
  const [threads, threadsLater] = pair((usage) => usage.threads);
  if (threadsLater > threads + tolerance.threads) {
    yield `${name}: threads grew from ${threads} to ${threadsLater}`;
  }
}

function* zombies(minutes: readonly Minute[]): Generator<string> {
  for (const { number, server, agent } of minutes) {
    const count = server.zombies + agent.zombies;
    if (count > 0) yield `minute ${number}: ${count} zombies stayed`;
  }
}

const mib = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
