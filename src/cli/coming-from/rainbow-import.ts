import { type ImportPlan, type ImportStep, none } from "./import-plan.ts";
import type { NamedOptions, RainbowConfig, WrittenConfig } from "./rainbow-config-file.ts";

/** The values to store on the server. */
export interface ImportRequest {
  readonly registerSecret?: string;
  readonly clusters: readonly {
    readonly name: string;
    readonly secret?: string;
    readonly token?: string;
  }[];
}

export interface RainbowPlan extends ImportPlan {
  readonly request: ImportRequest;
  /** The content of the file of `--select-options`. */
  readonly selectOptions: Readonly<Record<string, string>>;
}

/** Converts each key of rainbow's configuration, given the registered clusters. */
export function planImport(config: RainbowConfig, registered: ReadonlySet<string>): RainbowPlan {
  const request = requestOf(config, registered);
  return {
    steps: [
      ...secretSteps(config),
      ...selectionSteps(config.selection),
      ...matchSteps(config.match),
      ...clusterSteps(config, registered),
      ...databaseSteps(config.database),
      ...config.unknown.map((key) => none(key, "nothing: rainbow does not read it either")),
    ],
    request,
    flags: flagsOf(config),
    selectOptions: Object.fromEntries(config.selection.options.map(optionOf)),
    warnings: warningsOf(config),
  };
}

const isEmpty = ({ text }: WrittenConfig): boolean => text === "";
const isGiven = (written: WrittenConfig | undefined): written is WrittenConfig =>
  written !== undefined && !isEmpty(written);
/** The last word of "scheduler.algorithms.selection.options.priorities". */
const optionOf = ({ key, text }: WrittenConfig): [string, string] => [
  key.slice(key.indexOf(".options.") + ".options.".length),
  text,
];

function secretSteps({ registerSecret, schedulerName, user }: RainbowConfig): ImportStep[] {
  const steps: ImportStep[] = [];
  if (registerSecret !== undefined) {
    steps.push(credentialStep(registerSecret, "the secret for registering clusters"));
  }
  if (schedulerName !== undefined) {
    steps.push(none(schedulerName.key, "nothing: names are written where they are used"));
  }
  if (user !== undefined) steps.push(none(user.key, "nothing: there are no user accounts yet"));
  return steps;
}

/** A registration that failed leaves empty texts behind in rainbow's file. */
const credentialStep = (written: WrittenConfig, becomes: string): ImportStep =>
  isEmpty(written)
    ? none(written.key, "nothing: it is empty")
    : { key: written.key, becomes, kind: "apply" };

function selectionSteps({ name, options }: NamedOptions): ImportStep[] {
  const steps: ImportStep[] = [];
  if (isGiven(name)) {
    steps.push({ key: name.key, becomes: `--select ${name.text}`, kind: "flag" });
  }
  for (const { key } of options) {
    steps.push({ key, becomes: "in the file of --select-options", kind: "flag" });
  }
  return steps;
}

const matchSteps = ({ name, options }: NamedOptions): ImportStep[] =>
  [...(name === undefined ? [] : [name]), ...options].map(({ key }) =>
    none(key, "nothing: every requirement of a jobspec counts"),
  );

function clusterSteps(
  { cluster, clusters }: RainbowConfig,
  registered: ReadonlySet<string>,
): ImportStep[] {
  const steps: ImportStep[] = [];
  const { name, secret } = cluster;
  if (name !== undefined) steps.push(none(name.key, "names the cluster of the secret"));
  if (secret !== undefined) steps.push(ofCluster(secret, "secret", name, registered));
  for (const { name: own, token } of clusters) {
    if (token === undefined) steps.push(none(own.key, "nothing: it has no token"));
    else steps.push(ofCluster(token, "token", own, registered));
  }
  return steps;
}

function ofCluster(
  written: WrittenConfig,
  what: "secret" | "token",
  name: WrittenConfig | undefined,
  registered: ReadonlySet<string>,
): ImportStep {
  if (isEmpty(written)) return none(written.key, "nothing: it is empty");
  if (!isGiven(name)) {
    const hint = "say cluster.name in the file";
    return { key: written.key, becomes: `the ${what} of a cluster`, kind: "blocked", hint };
  }
  const becomes = `the ${what} of cluster ${name.text}`;
  if (registered.has(name.text)) return { key: written.key, becomes, kind: "apply" };
  const hint = `busbar cluster register ${name.text} --graph FILE, then import again`;
  return { key: written.key, becomes, kind: "blocked", hint };
}

const OWN_DATABASE = "memory";

function databaseSteps(database: RainbowConfig["database"]): ImportStep[] {
  const { name, host, options } = database;
  const address = addressOf(database);
  const steps: ImportStep[] = [];
  if (isGiven(name)) {
    steps.push(
      name.text === OWN_DATABASE
        ? none(name.key, "nothing: the server stores graphs itself")
        : {
            key: name.key,
            becomes: "nothing: the server stores graphs itself",
            kind: "blocked",
            hint: `the server uses no ${name.text}; register the clusters with their graphs`,
          },
    );
  }
  for (const written of [...(host === undefined ? [] : [host]), ...options]) {
    steps.push(
      written === address
        ? { key: written.key, becomes: `--rainbow ${written.text}`, kind: "flag" }
        : none(written.key, "nothing: no client of this server needs it"),
    );
  }
  return steps;
}

function requestOf(
  { registerSecret, cluster, clusters }: RainbowConfig,
  registered: ReadonlySet<string>,
): ImportRequest {
  const own = new Map<string, { secret?: string; token?: string }>();
  const put = (
    name: WrittenConfig | undefined,
    field: "secret" | "token",
    text: WrittenConfig | undefined,
  ) => {
    if (!isGiven(name) || !isGiven(text) || !registered.has(name.text)) return;
    own.set(name.text, { ...own.get(name.text), [field]: text.text });
  };
  put(cluster.name, "secret", cluster.secret);
  for (const { name, token } of clusters) put(name, "token", token);
  return {
    ...(isGiven(registerSecret) && { registerSecret: registerSecret.text }),
    clusters: [...own].map(([name, texts]) => ({ name, ...texts })),
  };
}

/** The address of clients: Python clients read it from the options. The address of another database does not matter here. */
function addressOf({ name, host, options }: RainbowConfig["database"]): WrittenConfig | undefined {
  if (isGiven(name) && name.text !== OWN_DATABASE) return undefined;
  return [options.find(({ key }) => key === "graphdatabase.options.host"), host].find(isGiven);
}

function flagsOf({ selection, database }: RainbowConfig): string[] {
  const host = addressOf(database);
  return [
    ...(isGiven(selection.name) ? ["--select", selection.name.text] : []),
    ...(selection.options.length > 0 ? ["--select-options", "select.yaml"] : []),
    ...(host === undefined ? [] : ["--rainbow", host.text]),
  ];
}

/** The secret of rainbow's documentation, and the token that its server gives to all clients. */
const PUBLISHED = new Set(["chocolate-cookies", "rainbow"]);

function warningsOf({ registerSecret, cluster, clusters }: RainbowConfig): string[] {
  const texts = [registerSecret, cluster.secret, ...clusters.map(({ token }) => token)];
  return texts
    .filter((written) => written !== undefined && PUBLISHED.has(written.text))
    .map((written) => `${written?.key} is a default that rainbow publishes: it is no secret`);
}
