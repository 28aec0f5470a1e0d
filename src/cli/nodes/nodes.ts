import { type Command, Option } from "commander";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import { lostPolicies } from "../context.ts";
import { addIfRevision, awayTime, type ConditionFlags, notEmpty, oneOf } from "../flags.ts";
import { toNodeRow } from "../json.ts";
import { collect } from "../pages.ts";
import { renderNode, renderNodes } from "../render/nodes.ts";
import type { NodeRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { refuseUnknownSubcommand } from "../unknown-subcommand.ts";

interface NodesFlags {
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
Counts before what the node's agent was started with (busbar agent --on-lost, --lost-after). Tasks that
a lost node has kept until now follow the new policy at once.

Examples:
  busbar nodes set edge-7 --on-lost keep
  busbar nodes set edge-7 --lost-after 12h
  busbar nodes set edge-7 --on-lost agent --lost-after agent`;

export function declareNodes(command: Command, shell: Shell): void {
  command
    .allowExcessArguments()
    .usage("[options] [command]")
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
  busbar nodes show rack1-7
  busbar nodes drain rack1-7 --reason "new disk"`,
    )
    .action((flags: NodesFlags) => {
      refuseUnknownSubcommand(command);
      return shell.run(command, (session) => listNodes(session, flags));
    });
  declareOne(command, shell);
}

function declareOne(command: Command, shell: Shell): void {
  const add = (name: string, summary: string) =>
    command.command(name).description(summary).argument("<name>", "the node");

  const show = add("show", "Show one node in detail.");
  show.action((name: string) =>
    shell.run(show, async (session) => shown(await (await session.client()).getNode({ name }))),
  );

  const drain = add("drain", "Place no new tasks on a node; the running ones go on.");
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

  const set = add("set", "Say what becomes of a node's tasks when the node is lost.");
  addIfRevision(set)
    .addOption(
      new Option(
        "--on-lost <policy>",
        "run them elsewhere, keep them for the node, or fail them; agent: as its agent asks",
      )
        .choices(setPolicies)
        .argParser(oneOf("--on-lost", setPolicies)),
    )
    .option(
      "--lost-after <duration>",
      "how long it may be away before it is lost; agent: as its agent or the server says",
      (text) => (text === "agent" ? 0 : awayTime("--lost-after")(text)),
    )
    .addHelpText("after", SET_HELP)
    .action((name: string, flags: SetFlags) =>
      shell.run(set, async (session) => {
        if (flags.onLost === undefined && flags.lostAfter === undefined) {
          throw invalid("nodes set", "nothing to set; say --on-lost, --lost-after, or both");
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

  const remove = add("remove", "Forget a node that is not connected; its tasks run elsewhere.");
  addIfRevision(remove).action((name: string, { ifRevision }: ConditionFlags) =>
    shell.run(remove, async (session) => {
      await (await session.client()).removeNode({ name, ifRevision });
      return { json: { removed: name }, text: () => `node ${name} removed` };
    }),
  );
}

type WireNode = Parameters<typeof toNodeRow>[0];

function shown(node: WireNode): Answer {
  const row = toNodeRow(node);
  return { json: row, text: (page) => renderNode(row, page) };
}

function changed(node: WireNode): Answer {
  const row = toNodeRow(node);
  return { json: row, text: () => `node ${row.name} is ${row.state}${lossOf(row)}` };
}

function lossOf({ onLost, lostAfterMs }: NodeRow): string {
  const after = lostAfterMs === undefined ? "" : ` after ${formatDuration(lostAfterMs)}`;
  if (onLost === undefined && after === "") return "";
  return `; when lost${after}: ${onLost ?? "requeue"}`;
}

async function listNodes(session: Session, flags: NodesFlags): Promise<Answer> {
  const client = await session.client();
  const { cluster, state } = flags;
  const { items } = await collect<NodeRow>(limits.nodesMax, async (pageToken) => {
    const pageSize = limits.pageSizeMax;
    const answer = await client.listNodes({ cluster, state, pageSize, pageToken });
    return { items: answer.nodes.map(toNodeRow), nextPageToken: answer.nextPageToken };
  });
  return {
    json: { nodes: items },
    text: (page) => (items.length === 0 ? "no nodes" : renderNodes(items, page)),
  };
}
