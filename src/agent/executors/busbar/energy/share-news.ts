import type { Job, Task } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { stateName } from "../../../../client/state.ts";
import type { RunEnd } from "../../../../ports/executor.ts";
import { type EndTerms, newsOf, type TaskNews } from "../task-news.ts";

/** The fields of a job below that describe its share. */
export type ShareBelow = Pick<
  Job,
  "state" | "startedAtMs" | "endedAtMs" | "reason" | "usage" | "energy"
>;

/**
 * Derives the state of a share from the job with energy below. Its progress follows from the job's energy, which counts the
 * reports of its own edges, lost ones included: durable progress below counts above. The reason of a failed job comes from
 * its failed shares.
 */
export function newsOfShare(
  job: ShareBelow,
  share: number,
  terms: EndTerms,
  failed: readonly Task[] = [],
): TaskNews {
  const progress = { percent: percentOf(job, share) };
  const news = newsOf({ ...job, progress }, terms);
  if (news.kind !== "ended" || !hasFailed(job)) return news;
  return { ...news, end: failureOf(job, terms, failed) };
}

export const hasFailed = ({ state }: Pick<ShareBelow, "state">): boolean =>
  stateName(state) === "failed";

/** Rounded down to hundredths: no energy counts above that was not done below. */
function percentOf({ energy }: ShareBelow, share: number): number {
  if (share <= 0) return 100;
  const done = Math.min(share, Number(energy?.doneWattSeconds ?? 0n));
  const hundredths = Number((BigInt(done) * 10_000n) / BigInt(share));
  return hundredths / 100;
}

/** The Busbar below retried these as often as it may: they are not the reason. */
const LOST: ReadonlySet<string> = new Set(["lost", "vanished", "node-fault", "requeued"]);

/** Its own fault, which counts against the retries above. */
function failureOf({ reason = "" }: ShareBelow, terms: EndTerms, failed: readonly Task[]): RunEnd {
  const why = failed.find(({ failure }) => failure !== undefined && !LOST.has(failure));
  const news = why && newsOf(why, terms);
  if (news?.kind === "ended") return news.end;
  const message = `failed at site ${terms.site}${reason === "" ? "" : `: ${reason}`}`;
  return { kind: "signalled", signal: "SIGTERM", message };
}
