import { type Read, readDocument, Walk } from "./config-walk.ts";
import type { Value } from "../yaml/yaml-value.ts";

/** A text of the file, and its position. */
export interface WrittenConfig {
  readonly key: string;
  readonly text: string;
}

export interface NamedOptions {
  readonly name?: WrittenConfig;
  readonly options: readonly WrittenConfig[];
}

/** Everything that rainbow reads from its rainbow-config.yaml. */
export interface RainbowConfig {
  readonly registerSecret?: WrittenConfig;
  readonly schedulerName?: WrittenConfig;
  readonly user?: WrittenConfig;
  readonly selection: NamedOptions;
  readonly match: NamedOptions;
  readonly cluster: { readonly name?: WrittenConfig; readonly secret?: WrittenConfig };
  readonly database: NamedOptions & { readonly host?: WrittenConfig };
  readonly clusters: readonly { readonly name: WrittenConfig; readonly token?: WrittenConfig }[];
  /** Keys that rainbow does not read, as written in the file. */
  readonly unknown: readonly string[];
}

/** Rejects values of the wrong form with their position and key; ignores unknown keys. */
export function readRainbowConfig(content: string, file: string): RainbowConfig {
  const root = readDocument(content, file, "rainbow");
  const texts = new Map<string, WrittenConfig>();
  const unknown: string[] = [];
  const clusters: { name: WrittenConfig; token?: WrittenConfig }[] = [];
  const walk = new Walk(unknown);
  const text: Read = (value, key) => {
    // rainbow itself writes keys without a value; they mean nothing.
    if (value.kind !== "nothing") texts.set(key, { key, text: value.text() });
  };
  const algorithm = (): Record<string, Read> => ({
    name: text,
    options: (value, key) => walk.each(value, key, text),
  });
  walk.map(root, "", {
    scheduler: walk.inside({
      secret: text,
      name: text,
      user: (_, key) => texts.set(key, { key, text: "" }), // with any content
      algorithms: walk.inside({
        selection: walk.inside(algorithm()),
        match: walk.inside(algorithm()),
      }),
    }),
    cluster: walk.inside({ name: text, secret: text }),
    graphdatabase: walk.inside({ host: text, ...algorithm() }),
    clusters: (value, key) => clusters.push(...readClusters(value, key, walk)),
  });
  return { ...fromTexts(texts), clusters, unknown };
}

function readClusters(value: Value, path: string, walk: Walk) {
  if (value.kind === "nothing") return [];
  const names = new Set<string>();
  return value.list().map((item, at) => {
    const key = `${path}[${at}]`;
    const own = new Map<string, WrittenConfig>();
    const keep: Read = (inner, name) => {
      if (inner.kind !== "nothing") own.set(name, { key: name, text: inner.text() });
    };
    walk.map(item, key, { name: keep, token: keep });
    const name = own.get(`${key}.name`);
    if (name === undefined) throw item.fail("needs a name");
    if (names.has(name.text)) throw item.fail(`there are two named ${name.text}`);
    names.add(name.text);
    const token = own.get(`${key}.token`);
    return { name, ...(token && { token }) };
  });
}

function fromTexts(texts: ReadonlyMap<string, WrittenConfig>) {
  const named = (path: string): NamedOptions => {
    const name = texts.get(`${path}.name`);
    const options = [...texts.values()].filter(({ key }) => key.startsWith(`${path}.options.`));
    return { ...(name && { name }), options };
  };
  const one = <Field extends string>(field: Field, key: string) => {
    const found = texts.get(key);
    return (found === undefined ? {} : { [field]: found }) as { [Name in Field]?: WrittenConfig };
  };
  return {
    ...one("registerSecret", "scheduler.secret"),
    ...one("schedulerName", "scheduler.name"),
    ...one("user", "scheduler.user"),
    selection: named("scheduler.algorithms.selection"),
    match: named("scheduler.algorithms.match"),
    cluster: { ...one("name", "cluster.name"), ...one("secret", "cluster.secret") },
    database: { ...named("graphdatabase"), ...one("host", "graphdatabase.host") },
  };
}
