import type { BusbarClient } from "../../client/client.ts";
import type { JobSubmissionInit } from "../../client/messages.ts";
import { AppError } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";
import { limits } from "../../limits.ts";

type Spec = NonNullable<JobSubmissionInit["spec"]>;

/** Flags by the kind of dependency that they set. */
const FLAGS: Readonly<Record<string, string>> = {
  afterok: "--after-ok",
  afterany: "--after-any",
  afternotok: "--after-not-ok",
  after: "--after",
  singleton: "--singleton",
};

/**
 * Converts a rejection of a job that was made from flags to the words of those flags, with the name that was probably meant. Returns any
 * other error unchanged.
 */
export async function clearerRefusal(
  client: BusbarClient,
  spec: Spec,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof AppError)) return error;
  if (error.code === "unschedulable") return withMeantNames(client, spec, error, FLAG_NAMES);
  const [, field = ""] =
    /^(?:jobs\[0\]\.|template\.)?(?:spec\.)?(.*)$/.exec(error.field ?? "") ?? [];
  const [, at] = /^dependsOn\[(\d+)\]/.exec(field) ?? [];
  const flag = at === undefined ? flagOf(field) : FLAGS[spec.dependsOn?.[Number(at)]?.kind ?? ""];
  return flag === undefined ? error : error.at(flag);
}

/** The same for a job of a file, which has keys instead of flags. Only a name that no node has is explained. */
export async function clearerRefusalOfFile(
  client: BusbarClient,
  jobs: readonly JobSubmissionInit[],
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== "unschedulable") return error;
  const [, at] = /^jobs\[(\d+)\]$/.exec(error.field ?? "jobs[0]") ?? [];
  const spec = jobs[Number(at)]?.spec;
  return spec === undefined ? error : withMeantNames(client, spec, error, KEY_NAMES);
}

/** Where the caller wrote the names, for messages. */
interface Names {
  readonly node: string;
  readonly cluster: string;
  readonly resource: string;
}

const FLAG_NAMES: Names = { node: "--node", cluster: "--cluster", resource: "--resource" };
const KEY_NAMES: Names = {
  node: "placement.node",
  cluster: "placement.cluster",
  resource: "resources",
};

/** Flags by the field that they set, where the server alone knows the rule. */
const FLAG_OF_FIELD: Readonly<Record<string, string>> = {
  group: "--group",
  name: "--name",
  comment: "--comment",
  script: "--script",
  array: "--array",
  stdoutFile: "--stdout",
  stderrFile: "--stderr",
  cwd: "--cwd",
  labels: "--label",
  env: "--env",
  resources: "--resource",
  "placement.node": "--node",
  "placement.cluster": "--cluster",
  "placement.labels": "--node-label",
  idempotencyKey: "--idempotency-key",
  "retries.max": "--retries",
  timeLimitMs: "--time-limit",
  queueDeadlineMs: "--queue-deadline",
  killGraceMs: "--kill-grace",
};

/** `labels.a` is one of those that `--label` sets. */
function flagOf(field: string): string | undefined {
  const known = Object.keys(FLAG_OF_FIELD).find(
    (one) => field === one || field.startsWith(`${one}.`),
  );
  return known === undefined ? undefined : FLAG_OF_FIELD[known];
}

/** The number of nodes whose names are compared: as many as a person would look through. */
const NODES_ASKED = limits.pageSizeMax;

async function withMeantNames(
  client: BusbarClient,
  spec: Spec,
  error: AppError,
  at: Names,
): Promise<AppError> {
  const { node, cluster } = spec.placement ?? {};
  const nodes = await client.listNodes({ pageSize: NODES_ASKED }).then(
    (page) => page.nodes,
    () => [], // Without names there is no hint; the reason of the rejection is known.
  );
  const names = new Set(nodes.flatMap(({ capacity }) => Object.keys(capacity)));
  const meant = [
    node === undefined
      ? undefined
      : didYouMean(
          `${at.node}: there is no node`,
          node,
          nodes.map(({ name }) => name),
        ),
    cluster === undefined
      ? undefined
      : didYouMean(`${at.cluster}: there is no cluster`, cluster, [
          ...new Set(nodes.map((each) => each.cluster)),
        ]),
    ...Object.keys(spec.resources ?? {})
      .filter((name) => !names.has(name) && !HAS_FLAG.has(name))
      .map((name) => didYouMean(`${at.resource}: no node has`, name, [...names])),
  ].filter((each) => each !== undefined);
  if (meant.length === 0) return error;
  return new AppError(error.code, `${meant.join(" ")} ${error.message}`, {
    cause: error.cause,
    saysWhere: true,
  });
}

/** Nobody who writes `--gpu 1` means cpu: that no node has one is all there is to say. */
const HAS_FLAG: ReadonlySet<string> = new Set(["cpu", "memory", "gpu"]);

/** The names of these in other tools. */
const ALIASES: Readonly<Record<string, string>> = {
  cpus: "cpu",
  core: "cpu",
  cores: "cpu",
  ncpus: "cpu",
  mem: "memory",
  ram: "memory",
  gpus: "gpu",
};

function didYouMean(problem: string, word: string, known: readonly string[]): string | undefined {
  if (known.includes(word)) return undefined;
  const alias = Object.hasOwn(ALIASES, word) ? ALIASES[word] : undefined;
  const meant = alias !== undefined && known.includes(alias) ? alias : nearest(word, known);
  return meant === undefined ? undefined : `${problem} ${word}; did you mean ${meant}?`;
}
