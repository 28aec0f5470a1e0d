import { type Command, Option } from "commander";
import { AppError, invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import { lostPolicies } from "../context.ts";
import { addIfRevision, awayTime, type ConditionFlags, notEmpty, oneOf } from "../flags.ts";
import { toNodeRow } from "../json.ts";
import { collect } from "../pages.ts";
import { listed, type RowsAnswer, shownRows } from "../formats/answers.ts";
import { addWatchFlag, COUNTS_REFRESH_MS, watchList, type WatchFlag } from "../live/watch-list.ts";
import { NODES, renderNode } from "../render/nodes.ts";
import { readNodeTasks } from "./node-tasks.ts";
import type { NodeRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { refuseUnknownSubcommand } from "../suggest/unknown-subcommand.ts";

interface NodesFlags extends WatchFlag {
  readonly cluster?: string;
  readonly state?: string;
}

const nodeStates = [
  "connected",
  "disconnected",
  "draining",
  "drained",
  "lost",
  "unhealthy",
  "quarantined",
] as const;

const setPolicies = [...lostPolicies, "agent"] as const;

interface SetFlags extends ConditionFlags {
  readonly onLost?: (typeof setPolicies)[number];
  readonly lostAfter?: number;
}

const SET_HELP = `
Overrides the flags that the node's agent was started with (busbar agent --on-lost, --lost-after). Tasks that
a lost node has kept until now follow the new policy at once.

Examples:
  busbar nodes set edge-7 --on-lost keep
  busbar nodes set edge-7 --lost-after 12h
  busbar nodes set edge-7 --on-lost agent --lost-after agent`;

export function declareNodes(command: Command, shell: Shell): void {
  addWatchFlag(command)
    .usage("[options] [name] [command]")
    .argument("[name]", "show this one, with its tasks")
    .option("--cluster <name>", "only of this cluster", notEmpty("--cluster"))
    .addOption(
      new Option("--state <state>", "only in this state")
        .choices(nodeStates)
        .argParser(oneOf("--state", nodeStates)),
    )
    .addHelpText(
      "after",
      `
Examples:
  busbar nodes --cluster gpu
  busbar nodes rack1-7
  busbar nodes --watch
  busbar nodes drain rack1-7 --reason "new disk"`,
    )
    .action((name: string | undefined, flags: NodesFlags) => {
      if (command.args.length > 1) refuseUnknownSubcommand(command);
      return shell.list(command, async (session) => {
        if (name === undefined) return listNodes(session, flags);
        for (const flag of ["watch", "cluster", "state"] as const) {
          if (flags[flag] !== undefined) throw invalid(`--${flag}`, "is for the list of nodes");
        }
        return showNode(
          session,
          name,
          command.commands.map((each) => each.name()),
        );
      });
    });
  declareOne(command, shell);
  command.allowExcessArguments(); // last: subcommands, which have none to misspell, would inherit it
}

function declareOne(command: Command, shell: Shell): void {
  const add = (name: string, summary: string) =>
    command.command(name).description(summary).argument("<name>", "the node");

  const show = add("show", "Show one node in detail, as busbar nodes NAME does.");
  show.action((name: string) => shell.list(show, (session) => showNode(session, name, [])));

  const drain = add("drain", "Place no new tasks on a node; running tasks continue.");
  addIfRevision(drain)
    .option("--reason <text>", "say why; shown with the node")
    .action((name: string, flags: ConditionFlags & { readonly reason?: string }) =>
      shell.run(drain, async (session) =>
        changed(await (await session.client()).drainNode({ name, ...flags })),
      ),
    );

  const undrain = add("undrain", "Use a drained or quarantined node again.");
  addIfRevision(undrain).action((name: string, { ifRevision }: ConditionFlags) =>
    shell.run(undrain, async (session) =>
      changed(await (await session.client()).undrainNode({ name, ifRevision })),
    ),
  );

  const set = add("set", "Set what happens to a node's tasks when the node is lost.");
  addIfRevision(set)
    .addOption(
      new Option(
        "--on-lost <policy>",
        "run them elsewhere, keep them for the node, or fail them; agent: use the agent's flag",
      )
        .choices(setPolicies)
        .argParser(oneOf("--on-lost", setPolicies)),
    )
    .option(
      "--lost-after <duration>",
      "how long it may be disconnected before it is lost; agent: use the agent's or the server's flag",
      (text) => (text === "agent" ? 0 : awayTime("--lost-after")(text)),
    )
    .addHelpText("after", SET_HELP)
    .action((name: string, flags: SetFlags) =>
      shell.run(set, async (session) => {
        if (flags.onLost === undefined && flags.lostAfter === undefined) {
          throw invalid("nodes set", "nothing to set; give --on-lost, --lost-after or both");
        }
        const { onLost, lostAfter, ifRevision } = flags;
        const asked = {
          name,
          ifRevision,
          ...(onLost === undefined ? {} : { onLost }),
          ...(lostAfter === undefined ? {} : { lostAfterMs: lostAfter }),
        };
        return changed(await (await session.client()).setNode(asked));
      }),
    );

  const remove = add("remove", "Remove a node that is not connected; its tasks run elsewhere.");
  addIfRevision(remove).action((name: string, { ifRevision }: ConditionFlags) =>
    shell.run(remove, async (session) => {
      await (await session.client()).removeNode({ name, ifRevision });
      return { json: { removed: name }, text: () => `node ${name} removed` };
    }),
  );
}

type WireNode = Parameters<typeof toNodeRow>[0];

/** `words`: a missing node may be a misspelt one of these. */
async function showNode(
  session: Session,
  name: string,
  words: readonly string[],
): Promise<RowsAnswer> {
  const client = await session.client();
  const row = toNodeRow(await client.getNode({ name }).catch(suggestWord(name, words)));
  const tasks = row.tasks + row.held === 0 ? [] : await readNodeTasks(client, name);
  return {
    json: { ...row, taskList: tasks },
    text: (page) => renderNode(row, page, tasks),
    rows: shownRows(NODES, [row]),
  };
}

const suggestWord =
  (name: string, words: readonly string[]) =>
  (error: unknown): never => {
    const meant = nearest(name, words);
    const isUnknown = error instanceof AppError && error.code === "not_found";
    if (!isUnknown || meant === undefined) throw error;
    throw invalid("nodes", `there is no node ${name}; did you mean busbar nodes ${meant}?`);
  };

function changed(node: WireNode): Answer {
  const row = toNodeRow(node);
  return { json: row, text: () => `node ${row.name} is ${row.state}${lossOf(row)}` };
}

function lossOf({ onLost, lostAfterMs }: NodeRow): string {
  const after = lostAfterMs === undefined ? "" : ` after ${formatDuration(lostAfterMs)}`;
  if (onLost === undefined && after === "") return "";
  return `; when lost${after}: ${onLost ?? "requeue"}`;
}

async function listNodes(session: Session, flags: NodesFlags): Promise<RowsAnswer | number> {
  if (flags.watch === true) return watchNodes(session, flags);
  return listed(NODES, (await readNodes(session, flags)).rows);
}

async function readNodes(session: Session, { cluster, state }: NodesFlags) {
  const client = await session.client();
  const { items: rows, revision } = await collect(limits.nodesMax, async (pageToken) => {
    const pageSize = limits.pageSizeMax;
    const page = await client.listNodes({ cluster, state, pageSize, pageToken });
    return { ...page, items: page.nodes.map(toNodeRow) };
  });
  return { rows, revision };
}

/** Events of a node lack the usage of its tasks. */
const watchNodes = (session: Session, flags: NodesFlags): Promise<number> =>
  watchList(session, {
    kind: NODES,
    following: { nodes: true },
    list: () => readNodes(session, flags),
    see: (event) => {
      if (event.case === "node") return { row: toNodeRow(event.value) };
      const isNode = event.case === "removed" && event.value.kind === "node";
      return isNode ? { removed: event.value.id } : undefined;
    },
    revisionOf: (node) => node.revision,
    choose: (nodes) =>
      nodes
        .filter(({ cluster }) => flags.cluster === undefined || cluster === flags.cluster)
        .filter(({ state }) => flags.state === undefined || state === flags.state)
        .sort((a, b) => (a.name < b.name ? -1 : 1)),
    refreshMs: COUNTS_REFRESH_MS,
  });
