import { limits } from "../../limits.ts";
import type { ReadText } from "./jobspecs/jobspecs.ts";
import type { RainbowOperations } from "./operations.ts";
import { refuse } from "./status.ts";

export interface Satisfied {
  readonly clusters: readonly string[];
  readonly total: number;
}

/** What comes beside a question: a token or secret, and which clusters it is of. */
export interface Shown {
  readonly credential: string;
  /** Empty: not told. */
  readonly clusters: readonly string[];
}

// Rainbow knows the first; its documentation names the others, which are all the same here.
const MATCHERS = new Set(["", "match", "equals", "range"]);

/**
 * Which clusters could ever run a jobspec. Rainbow's clients ask without credentials and are told of
 * all that pull; who shows one is told of those that it is good for.
 */
export async function satisfy(
  operations: RainbowOperations,
  { payload, matcher }: { readonly payload: string; readonly matcher: string },
  { read, shown }: { readonly read: ReadText; readonly shown: Shown | undefined },
): Promise<Satisfied> {
  if (!MATCHERS.has(matcher)) throw refuse.noAlgorithm(matcher);
  if (payload.trim() === "") throw refuse.noJobspec();
  const { parts, parameters } = await read(payload);
  const names = shown && (await openTo(operations, shown));
  const { ever, tasks } = await operations.satisfy({
    ask: { kind: "parts", parts, parameters },
    pulling: { names },
  });
  return { clusters: ever, total: tasks[0]?.clusters.length ?? 0 };
}

/** Each wrong guess costs time, by design: a caller that is good for few must say for which. */
async function openTo(
  operations: RainbowOperations,
  { credential, clusters }: Shown,
): Promise<readonly string[]> {
  const names = clusters.length > 0 ? clusters : await allThatPull(operations);
  if (names.length > limits.guessedClustersMax) throw refuse.tooManyToGuess(names.length);
  const isOpen = async (cluster: string): Promise<boolean> =>
    (await operations.checkCredential({ kind: "cluster-token", cluster }, credential)) ||
    (await operations.checkCredential({ kind: "cluster-secret", cluster }, credential));
  const open = await Promise.all(names.map(isOpen));
  return names.filter((_, at) => open[at]);
}

async function allThatPull(operations: RainbowOperations): Promise<readonly string[]> {
  const { ever } = await operations.satisfy({
    ask: { kind: "parts", parts: [], parameters: {} },
    pulling: {},
  });
  return ever;
}
