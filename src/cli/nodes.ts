import { type Command, Option } from "commander";
import { limits } from "../limits.ts";
import { notEmpty, oneOf } from "./flags.ts";
import { toNodeRow } from "./json.ts";
import { collect } from "./pages.ts";
import { renderNode, renderNodes } from "./render/nodes.ts";
import type { NodeRow } from "./rows.ts";
import type { Answer, Session, Shell } from "./session.ts";
import { refuseUnknownSubcommand } from "./unknown-subcommand.ts";

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
  drain
    .option("--reason <text>", "say why; shown with the node", "")
    .action((name: string, { reason }: { readonly reason: string }) =>
      shell.run(drain, async (session) =>
        changed(await (await session.client()).drainNode({ name, reason })),
      ),
    );

  const undrain = add("undrain", "Use a drained or quarantined node again.");
  undrain.action((name: string) =>
    shell.run(undrain, async (session) =>
      changed(await (await session.client()).undrainNode({ name })),
    ),
  );

  const remove = add("remove", "Forget a node that is not connected; its tasks run elsewhere.");
  remove.action((name: string) =>
    shell.run(remove, async (session) => {
      await (await session.client()).removeNode({ name });
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
  return { json: row, text: () => `node ${row.name} is ${row.state}` };
}

async function listNodes(session: Session, flags: NodesFlags): Promise<Answer> {
  const client = await session.client();
  const { cluster = "", state = "" } = flags;
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
