import { narrowTo, type Submitter } from "../../core/access/principal.ts";
import { strategyNames } from "../../core/select/all.ts";
import { limits } from "../../limits.ts";
import type { SatisfyView } from "../../server/views/satisfy-view.ts";
import type { CommandRequest, JobspecRequest, SubmitRequest } from "./wire/decode.ts";
import type { SubmitAnswer } from "./wire/encode.ts";
import type { ReadJobspec, ReadText } from "./jobspecs/jobspecs.ts";
import { known, type RainbowAccess, type RainbowOperations } from "./operations.ts";
import { refuse } from "./status.ts";
import type { TokenLists } from "./wire/token-lists.ts";
import { toJobspecText, toSubmission } from "./translate.ts";

/** What is remembered from one submission to the next. */
export interface Submitting {
  readonly read: ReadText;
  readonly lists: TokenLists;
}

export async function submit(
  access: RainbowAccess,
  request: SubmitRequest,
  submitting: Submitting,
): Promise<SubmitAnswer> {
  return request.kind === "command"
    ? submitCommand(access, request, submitting.read)
    : submitJobspec(access, request, submitting);
}

/** As that server did it: nothing is matched, the cluster that is named gets it. */
async function submitCommand(
  access: RainbowAccess,
  request: CommandRequest,
  read: ReadText,
): Promise<SubmitAnswer> {
  const { cluster, token, name, command } = request;
  if (token === "") throw refuse.noToken();
  const { principal } = known(await access.authenticator.submitter([{ cluster, token }]));
  const text = toJobspecText(request);
  checkFits(text, command); // which its readers run: it is never left out
  const { jobspec } = await read(text);
  const [word = ""] = command.trim().split(/\s+/);
  const job = toSubmission(
    { jobspec, request: undefined },
    { name: name === "" ? word : name, text, cluster },
  );
  return { jobId: await submitTo(cluster, job, access, principal), cluster, clusters: [] };
}

async function submitJobspec(
  access: RainbowAccess,
  request: JobspecRequest,
  { read, lists }: Submitting,
): Promise<SubmitAnswer> {
  const principal = await lists.submitterOf(access.authenticator, request.clusters);
  const { algorithm, jobspec: text, name, satisfyOnly } = request;
  if (algorithm !== "" && !strategyNames.includes(algorithm)) throw refuse.noAlgorithm(algorithm);
  checkFits(text);
  const asked = await read(text);
  const operations = access.operations.as(principal);
  const query = selecting(request, asked, principal.clusters);
  const view = await (satisfyOnly ? operations.satisfy(query) : operations.rankClusters(query));
  const ranked = view.selection?.ranked ?? [];
  if (satisfyOnly) return { jobId: 0, cluster: "", clusters: ranked };
  const [cluster] = ranked;
  if (cluster === undefined) throw refuse.noneSelected(whyNone(view));
  const job = toSubmission(asked, { name, text, cluster });
  return { jobId: await submitTo(cluster, job, access, principal), cluster, clusters: [] };
}

/** Of a record beside its texts. */
const RECORD_BYTES = 8_192;

/** What is in a record stands there as JSON, and must leave some room for the rest. */
function checkFits(...texts: readonly string[]): void {
  const size = Buffer.byteLength(JSON.stringify(texts));
  if (size + RECORD_BYTES > limits.receivedBytesMax) throw refuse.tooLarge(size);
}

const selecting = (
  { algorithm, options }: JobspecRequest,
  { parts, parameters }: ReadJobspec,
  names: readonly string[],
): Parameters<RainbowOperations["satisfy"]>[0] => ({
  ask: { kind: "parts", parts, parameters },
  pulling: { names },
  selection: algorithm === "" ? {} : { strategy: algorithm, options },
});

/** With the token of this cluster alone, of all that were shown. */
async function submitTo(
  cluster: string,
  job: ReturnType<typeof toSubmission>,
  { operations }: RainbowAccess,
  submitter: Submitter,
): Promise<number> {
  const { jobs } = await operations.as(narrowTo(cluster, submitter)).submitJobs([job]);
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
