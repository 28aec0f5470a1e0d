import type { Command } from "commander";
import type { BusbarClient } from "../../client/client.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { toAgentRow, toClusterRow, toIssuedRow } from "../json.ts";
import { declareClusterTasks } from "./cluster-tasks.ts";
import { listClusters } from "./clusters.ts";
import { addIfRevision, type ConditionFlags, notEmpty } from "../flags.ts";
import { CLUSTERS, renderCluster, renderIssued, renderVertices } from "../render/clusters.ts";
import { shownRows } from "../formats/answers.ts";
import type { ClusterRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";

const HELP = `
A pull cluster is registered with a graph of its resources: a JSON Graph Format document with
vertices (cluster, rack, node, core, gpu, memory, ...) and containment edges. Its own scheduler runs
accepted tasks. An agent of the cluster (busbar agent --cluster blue --executor slurm) registers
the cluster by itself.

Examples:
  busbar cluster register --name blue --graph cluster-nodes.json
  busbar cluster show blue
  busbar cluster rotate blue
  busbar cluster delete blue`;

export function declareCluster(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  declareRegister(command, shell);
  const list = command.command("list").description("List clusters, as busbar clusters does.");
  list.action(() => shell.list(list, listClusters));
  declareShow(command, shell);
  declareRotate(command, shell);
  declareClusterTasks(command, shell);
  const remove = command
    .command("delete")
    .description("Delete a cluster with its graph, state and credentials.");
  addIfRevision(remove)
    .argument("<name>", "the cluster")
    .action((name: string, { ifRevision }: ConditionFlags) =>
      shell.run(remove, async (session) => {
        await (await session.client()).deleteCluster({ name, ifRevision });
        return { json: { deleted: name }, text: () => `cluster ${name} deleted` };
      }),
    );
}

interface RegisterFlags extends ConditionFlags {
  readonly name?: string;
  readonly graph: string;
  readonly update?: boolean;
  readonly credentials?: boolean;
}

function declareRegister(command: Command, shell: Shell): void {
  const register = command
    .command("register")
    .description("Register a pull cluster with a graph of its resources.");
  addIfRevision(register)
    .argument("[name]", "its name; the same as --name")
    .option("--name <name>", "its name", notEmpty("--name"))
    .requiredOption("--graph <file>", 'file with its graph, JSON ("-": standard input)')
    .option("--update", "replace the graph of a registered cluster; its subsystems stay")
    .option("--credentials", "create a secret and a token for it, and print them once")
    .addHelpText(
      "after",
      `
Examples:
  busbar cluster register --name blue --graph cluster-nodes.json
  generate-graph | busbar cluster register blue --graph - --update`,
    )
    .action((name: string | undefined, flags: RegisterFlags) =>
      shell.run(register, (session) => registerCluster(session, name, flags)),
    );
}

async function registerCluster(
  session: Session,
  argument: string | undefined,
  { name: flag, graph: file, update = false, credentials = false, ifRevision }: RegisterFlags,
): Promise<Answer> {
  if (argument !== undefined && flag !== undefined && argument !== flag) {
    throw invalid("--name", `"${flag}" and "${argument}" are different names; give one`);
  }
  const name = flag ?? argument;
  if (name === undefined) throw invalid("--name", "is missing");
  const content = await session.context.readInput(file, limits.documentBytesMax);
  const client = await session.client();
  const graph = content.toString("utf8");
  const request = { name, graph, update, withCredentials: credentials, ifRevision };
  const row = toClusterRow(await client.registerCluster(request));
  const { issued } = row;
  if (issued !== undefined) await session.note(SHOWN_ONCE);
  const done = `cluster ${row.name} ${update ? "updated" : "registered"}: ${renderVertices(row.vertices)}`;
  return {
    json: row,
    text: (page) => (issued === undefined ? done : `${done}\n${renderIssued(issued, page)}`),
  };
}

const SHOWN_ONCE = "these are not shown again; store them where only you can read them";

function declareRotate(command: Command, shell: Shell): void {
  const rotate = command
    .command("rotate")
    .description(
      "Replace a cluster's secret and token; the server rejects the old ones from then on.",
    );
  rotate
    .argument("<name>", "the cluster")
    .option("--secret", "the secret of the cluster's own scheduler")
    .option("--token", "the token with which users submit to it")
    .addHelpText(
      "after",
      "\nWithout a flag, both are replaced.\n\nExample:\n  busbar cluster rotate blue --token",
    )
    .action((cluster: string, flags: { readonly secret?: true; readonly token?: true }) =>
      shell.run(rotate, async (session) => {
        const client = await session.client();
        const { issued } = await client.rotateClusterCredentials({ cluster, ...flags });
        const row = issued === undefined ? {} : toIssuedRow(issued);
        await session.note(SHOWN_ONCE);
        return { json: { cluster, ...row }, text: (page) => renderIssued(row, page) };
      }),
    );
}

function declareShow(command: Command, shell: Shell): void {
  const show = command.command("show").description("Show one cluster in detail.");
  show
    .argument("<name>", "the cluster")
    .option("--graph", "print its graph as JSON instead")
    .action((name: string, { graph }: { readonly graph?: true }) =>
      shell.list(show, async (session) => {
        const client = await session.client();
        const row = await withAgents(client, toClusterRow(await client.getCluster({ name })));
        const rows = shownRows(CLUSTERS, [row]);
        if (graph === true)
          return { ...shownDocument(await client.getClusterGraph({ name })), rows };
        return { json: row, text: (page) => renderCluster(row, page), rows };
      }),
    );
}

async function withAgents(client: BusbarClient, row: ClusterRow): Promise<ClusterRow> {
  if (row.kind !== "pulling" || row.nodes === 0) return row;
  const { nodes } = await client.listNodes({ cluster: row.name, pageSize: limits.pageSizeMax });
  return { ...row, agents: nodes.map(toAgentRow) };
}

/** A document is JSON for people too, only indented. */
export function shownDocument({ graph }: { readonly graph: string }): Answer {
  const json: unknown = JSON.parse(graph);
  return { json, text: () => JSON.stringify(json, undefined, 2) };
}
