import { strategyNames } from "../../core/scheduler/select/all.ts";
import { limits } from "../../limits.ts";
import type { SatisfyView } from "../../server/views/views.ts";
import { submitsTo } from "./clusters.ts";
import type { CommandRequest, JobspecRequest, SubmitRequest } from "./wire/decode.ts";
import type { SubmitAnswer } from "./wire/encode.ts";
import type { ReadJobspec, ReadText } from "./jobspecs/jobspecs.ts";
import type { RainbowOperations } from "./operations.ts";
import { refuse } from "./status.ts";
import type { TokenLists } from "./wire/token-lists.ts";
import { toJobspecText, toSubmission } from "./translate.ts";

/** What is remembered from one submission to the next. */
export interface Submitting {
  readonly read: ReadText;
  readonly lists: TokenLists;
}

export async function submit(
  operations: RainbowOperations,
  request: SubmitRequest,
  submitting: Submitting,
): Promise<SubmitAnswer> {
  return request.kind === "command"
    ? submitCommand(operations, request, submitting.read)
    : submitJobspec(operations, request, submitting);
}

/** As that server did it: nothing is matched, the cluster that is named gets it. */
async function submitCommand(
  operations: RainbowOperations,
  request: CommandRequest,
  read: ReadText,
): Promise<SubmitAnswer> {
  const { cluster, token, name, command } = request;
  if (token === "") throw refuse.noToken();
  if ((await operations.checkTokens([{ cluster, token }])) === undefined) throw refuse.denied();
  const text = toJobspecText(request);
  checkFits(text, command); // which its readers run: it is never left out
  const { jobspec } = await read(text);
  const [word = ""] = command.trim().split(/\s+/);
  const job = toSubmission(
    { jobspec, request: undefined },
    { name: name === "" ? word : name, text, cluster },
  );
  return { jobId: await hand(operations, job, cluster), cluster, clusters: [] };
}

async function submitJobspec(
  operations: RainbowOperations,
  request: JobspecRequest,
  { read, lists }: Submitting,
): Promise<SubmitAnswer> {
  const names = await lists.namesOf(operations, request.clusters);
  const { algorithm, jobspec: text, name, satisfyOnly } = request;
  if (algorithm !== "" && !strategyNames.includes(algorithm)) throw refuse.noAlgorithm(algorithm);
  checkFits(text);
  const asked = await read(text);
  const view = await operations.satisfy(selecting(request, asked, names));
  const ranked = view.selection?.ranked ?? [];
  if (satisfyOnly) return { jobId: 0, cluster: "", clusters: ranked };
  const [cluster] = ranked;
  if (cluster === undefined) throw refuse.noneSelected(whyNone(view));
  const job = toSubmission(asked, { name, text, cluster });
  return { jobId: await hand(operations, job, cluster), cluster, clusters: [] };
}

/** Of a record beside its texts. */
const RECORD_BYTES = 8_192;

/** What is in a record stands there as JSON, and must leave some room for the rest. */
function checkFits(...texts: readonly string[]): void {
  const size = Buffer.byteLength(JSON.stringify(texts));
  if (size + RECORD_BYTES > limits.receivedBytesMax) throw refuse.tooLarge(size);
}

const selecting = (
  { algorithm, options, satisfyOnly }: JobspecRequest,
  { parts, parameters }: ReadJobspec,
  names: readonly string[],
): Parameters<RainbowOperations["satisfy"]>[0] => ({
  ask: { kind: "parts", parts, parameters },
  pulling: { names },
  selection: algorithm === "" ? {} : { strategy: algorithm, options },
  isAdvice: !satisfyOnly,
});

async function hand(
  operations: RainbowOperations,
  job: ReturnType<typeof toSubmission>,
  cluster: string,
): Promise<number> {
  const { jobs } = await operations.submitJobs(submitsTo(cluster), [job]);
  return Number(jobs[0]?.id ?? 0);
}

/** What the first cluster said, or why the rules left none. */
function whyNone({ selection, tasks }: SatisfyView): string | undefined {
  const [dropped] = selection?.dropped ?? [];
  if (dropped !== undefined) return `${dropped.name}: ${dropped.reason}`;
  for (const { clusters } of tasks) {
    const refusing = clusters.find(({ reasons }) => reasons.length > 0);
    if (refusing !== undefined) return `${refusing.cluster}: ${refusing.reasons.join("; ")}`;
  }
  return undefined;
}
