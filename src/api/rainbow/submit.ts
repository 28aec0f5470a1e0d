import { narrowTo, type Submitter } from "../../core/access/principal.ts";
import { strategyNames } from "../../core/select/all.ts";
import { limits } from "../../limits.ts";
import type { ChosenJobView } from "../../server/views/satisfy-view.ts";
import type { CommandRequest, JobspecRequest, SubmitRequest } from "./wire/decode.ts";
import type { SubmitAnswer } from "./wire/encode.ts";
import type { ReadText } from "./jobspecs/jobspecs.ts";
import { submissionOf } from "./jobspecs/submissions.ts";
import { known, type RainbowAccess } from "./operations.ts";
import { refuse } from "./status.ts";
import type { TokenLists } from "./wire/token-lists.ts";
import { toJobspecText, toSubmission } from "./translate.ts";

/** State shared by submissions. */
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

/** Like that server: without matching, the named cluster gets it. */
async function submitCommand(
  access: RainbowAccess,
  request: CommandRequest,
  read: ReadText,
): Promise<SubmitAnswer> {
  const { cluster, token, name, command } = request;
  if (token === "") throw refuse.noToken();
  const { principal } = known(await access.authenticator.submitter([{ cluster, token }]));
  const text = toJobspecText(request);
  checkFits(text, command); // its readers run it: it is never omitted
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
  const { algorithm, options, jobspec: text, name, satisfyOnly } = request;
  if (algorithm !== "" && !strategyNames.includes(algorithm)) throw refuse.noAlgorithm(algorithm);
  checkFits(text);
  const asked = await read(text);
  const operations = access.operations.as(principal);
  const { clusters } = principal;
  const { parts, parameters } = asked;
  const ask = { kind: "parts", parts, parameters } as const;
  const selection = algorithm === "" ? {} : { strategy: algorithm, options };
  if (satisfyOnly) {
    const view = await operations.satisfy({ ask, pulling: { names: clusters }, selection });
    return { jobId: 0, cluster: "", clusters: view.selection?.ranked ?? [] };
  }
  const job = submissionOf(asked, name, text);
  const chosen = await operations.submitToChosen({ job, clusters, ask, selection });
  if (chosen.kind === "none") throw refuse.noneSelected(whyNone(chosen));
  return { jobId: Number(chosen.id), cluster: chosen.cluster, clusters: [] };
}

/** The bytes of a record without its texts. */
const RECORD_BYTES = 8_192;

/** Of a UTF-16 unit of a text, as JSON: an escape like \u0001. */
const JSON_BYTES_PER_CHAR_MAX = 6;

/** Checks that the texts, as JSON in a record, leave space for its other fields. */
function checkFits(...texts: readonly string[]): void {
  let most = RECORD_BYTES;
  for (const { length } of texts) most += length * JSON_BYTES_PER_CHAR_MAX + '"",'.length;
  if (most < limits.receivedBytesMax) return; // however they are written
  const size = Buffer.byteLength(JSON.stringify(texts));
  if (size + RECORD_BYTES > limits.receivedBytesMax) throw refuse.tooLarge(size);
}

/** With the token of this cluster alone, of all sent tokens. */
async function submitTo(
  cluster: string,
  job: ReturnType<typeof toSubmission>,
  { operations }: RainbowAccess,
  submitter: Submitter,
): Promise<number> {
  const { jobs } = await operations.as(narrowTo(cluster, submitter)).submitJobs([job]);
  return Number(jobs[0]?.id ?? 0);
}

const REASONS_MAX = 5;

/** The answers of clusters, and which clusters the rules dropped. */
function whyNone({ dropped, tasks }: ChosenJobView & { readonly kind: "none" }): readonly string[] {
  const reasons = new Map<string, string>();
  for (const { clusters } of tasks) {
    for (const { cluster, reasons: said } of clusters) {
      if (said.length > 0 && !reasons.has(cluster)) reasons.set(cluster, said.join("; "));
    }
  }
  for (const { name, reason } of dropped) reasons.set(name, reason);
  const all = Array.from(reasons, ([cluster, why]) => `${cluster}: ${why}`);
  const more = all.length - REASONS_MAX;
  return more > 0 ? [...all.slice(0, REASONS_MAX), `and ${more} more clusters`] : all;
}
