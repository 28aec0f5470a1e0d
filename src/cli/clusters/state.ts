import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { toClusterRow } from "../json.ts";
import { addIfRevision, type ConditionFlags, oneOf } from "../flags.ts";
import { renderState } from "../render/clusters.ts";
import type { ClusterRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { keyAndValue, readStateFile, type Values } from "./state-values.ts";
import { CLUSTER_FLAG, whichCluster } from "./which-cluster.ts";
import { collecting } from "../single-flags.ts";

const HELP = `
The state of a cluster: numbers, texts, true and false by key, which strategies use to choose a cluster. Keys that
you set are replaced, others stay.

Examples:
  busbar state set --cluster blue nodes_free=20 cost=3.5 zone=north spot=true
  busbar state set --file cluster-state.json --count-down nodes_free=nodes
  busbar state show --cluster blue
  busbar state unset --cluster blue spot`;

interface ClusterFlag {
  readonly cluster?: string;
}

interface SetFlags extends ClusterFlag, ConditionFlags {
  readonly file?: string;
  readonly countDown?: readonly Counter[];
}

interface Counter {
  readonly key: string;
  readonly by: string;
}

export function declareState(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  declareSet(command, shell);

  const show = command.command("show").description("Show the state of a cluster.");
  show.option(...CLUSTER_FLAG).action((flags: ClusterFlag) =>
    shell.run(show, async (session) => {
      const client = await session.client();
      const name = await whichCluster(client, flags.cluster);
      return shown(toClusterRow(await client.getCluster({ name })));
    }),
  );

  const unset = command.command("unset").description("Remove keys from the state of a cluster.");
  addIfRevision(unset)
    .argument("<keys...>", "the keys")
    .option(...CLUSTER_FLAG)
    .action((keys: readonly string[], flags: ClusterFlag & ConditionFlags) =>
      shell.run(unset, async (session) => {
        const client = await session.client();
        const cluster = await whichCluster(client, flags.cluster);
        const { ifRevision } = flags;
        const asked = { cluster, remove: [...keys], ifRevision };
        return shown(toClusterRow(await client.setClusterState(asked)));
      }),
    );
}

function declareSet(command: Command, shell: Shell): void {
  const set = command
    .command("set")
    .description("Set keys of the state of a cluster; others stay as they are.");
  addIfRevision(set)
    .argument(
      "[key=value...]",
      "numbers, true and false are read as such; anything else, or in quotes, is text",
    )
    .option(...CLUSTER_FLAG)
    .option(
      "--file <file>",
      'read keys and values from a JSON object in this file ("-": standard input)',
    )
    .option(
      "--count-down <key=what>",
      "lower this key with each assigned job, by its nodes, slots or 1 (repeatable; none: no key)",
      collecting(countDown),
    )
    .addHelpText(
      "after",
      `
Examples:
  busbar state set --cluster blue nodes_free=20 zone=north spot=true
  busbar state set 'rack="12"' --count-down nodes_free=nodes`,
    )
    .action((pairs: readonly string[], flags: SetFlags) =>
      shell.run(set, (session) => setState(session, pairs, flags)),
    );
}

const whats = ["nodes", "slots", "jobs"] as const;

/** "none" alone removes all counters. */
function countDown(text: string, sofar: readonly Counter[] = []): readonly Counter[] {
  if (text === "none") return sofar;
  const at = text.lastIndexOf("=");
  if (at < 1) throw invalid("--count-down", `"${text}" is not KEY=nodes, KEY=slots or KEY=jobs`);
  const by = oneOf("--count-down", whats)(text.slice(at + 1));
  return [...sofar, { key: text.slice(0, at), by }];
}

async function setState(
  session: Session,
  pairs: readonly string[],
  { cluster: given, file, countDown: counters, ifRevision }: SetFlags,
): Promise<Answer> {
  const own = pairs.reduce<Values>((all, pair) => keyAndValue("key=value")(pair, all), {});
  const told = file === undefined ? undefined : await readFile(session, file);
  if (pairs.length === 0 && told === undefined && counters === undefined) {
    throw invalid("key=value", "is missing; write it like nodes_free=20");
  }
  const client = await session.client();
  const cluster = await whichCluster(client, given);
  const row = toClusterRow(
    await client.setClusterState({
      cluster,
      ifRevision,
      values: { ...told?.values, ...own },
      remove: (told?.remove ?? []).filter((key) => !Object.hasOwn(own, key)),
      ...(counters === undefined ? {} : { counters: { counters: [...counters] } }),
    }),
  );
  return shown(row);
}

async function readFile({ context }: Session, file: string) {
  const content = await context.readInput(file, limits.messageBytesMax);
  return readStateFile(content.toString("utf8"), file);
}

function shown(row: ClusterRow): Answer {
  const { name, state, counters } = row;
  return {
    json: { cluster: name, state, counters },
    text: (page) =>
      state.length + counters.length === 0
        ? `cluster ${name} has reported no state`
        : renderState(row, page),
  };
}
