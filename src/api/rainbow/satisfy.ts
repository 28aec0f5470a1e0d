import { ANONYMOUS, type Submitter } from "../../core/access/principal.ts";
import { limits } from "../../limits.ts";
import type { ReadText } from "./jobspecs/jobspecs.ts";
import { asAnybody, type RainbowAccess } from "./operations.ts";
import { refuse } from "./status.ts";

export interface SatisfyingClusters {
  readonly clusters: readonly string[];
  readonly total: number;
}

/** The credential of a request: a token or secret, and its clusters. */
export interface ShownClusters {
  readonly credential: string;
  /** Empty: not named. */
  readonly clusters: readonly string[];
}

// Rainbow has the first; its documentation names the others, which are all the same here.
const MATCHERS = new Set(["", "match", "equals", "range"]);

/**
 * The clusters that can run a jobspec, now or later. The answer to rainbow's clients, which send no credentials, covers all pull clusters;
 * the answer to a client with a credential covers those that it may submit to.
 */
export async function satisfy(
  access: RainbowAccess,
  { payload, matcher }: { readonly payload: string; readonly matcher: string },
  { read, shown }: { readonly read: ReadText; readonly shown: ShownClusters | undefined },
): Promise<SatisfyingClusters> {
  if (!MATCHERS.has(matcher)) throw refuse.noAlgorithm(matcher);
  if (payload.trim() === "") throw refuse.noJobspec();
  const { parts, parameters } = await read(payload);
  const bearer = shown && (await bearerOf(access, shown));
  const { ever, tasks } = await access.operations.as(bearer ?? ANONYMOUS).satisfy({
    ask: { kind: "parts", parts, parameters },
    pulling: { names: bearer?.clusters },
  });
  return { clusters: ever, total: tasks[0]?.clusters.length ?? 0 };
}

/** Each wrong guess costs time, by design: a caller with a credential for few clusters must name them. */
async function bearerOf(
  access: RainbowAccess,
  { credential, clusters }: ShownClusters,
): Promise<Submitter> {
  const names = clusters.length > 0 ? clusters : await allThatPull(access);
  if (names.length > limits.guessedClustersMax) throw refuse.tooManyToGuess(names.length);
  return access.authenticator.bearer(credential, names);
}

async function allThatPull(access: RainbowAccess): Promise<readonly string[]> {
  const { ever } = await asAnybody(access).satisfy({
    ask: { kind: "parts", parts: [], parameters: {} },
    pulling: {},
  });
  return ever;
}
