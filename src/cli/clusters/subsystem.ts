import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { shownDocument } from "./cluster.ts";
import { toClusterRow } from "../json.ts";
import { addIfRevision, type ConditionFlags, notEmpty } from "../flags.ts";
import { type RowsAnswer, shownRows } from "../formats/answers.ts";
import { renderSubsystems, SUBSYSTEMS } from "../render/clusters.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { subsystemNameOf } from "./subsystem-name.ts";
import { CLUSTER_FLAG, whichCluster } from "./which-cluster.ts";

const HELP = `
A subsystem describes what a cluster has beside its containment graph: software, file systems, operating
systems. It is a document of the same form, whose links begin at vertices of the cluster's graph.

Examples:
  busbar subsystem add --cluster blue --name io cluster-io-subsystem.json
  busbar subsystem list --cluster blue
  busbar subsystem remove --cluster blue io`;

interface ClusterFlag {
  readonly cluster?: string;
}

export function declareSubsystem(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  declareAdd(command, shell);
  const list = command.command("list").description("List the subsystems of a cluster.");
  list
    .option(...CLUSTER_FLAG)
    .action((flags: ClusterFlag) => shell.list(list, (session) => listSubsystems(session, flags)));

  const show = command.command("show").description("Print a subsystem as JSON.");
  show
    .argument("<name>", "the subsystem")
    .option(...CLUSTER_FLAG)
    .action((name: string, flags: ClusterFlag) =>
      shell.run(show, async (session) => {
        const client = await session.client();
        const cluster = await whichCluster(client, flags.cluster);
        return shownDocument(await client.getSubsystem({ cluster, name }));
      }),
    );

  const remove = command.command("remove").description("Remove a subsystem with its links.");
  addIfRevision(remove)
    .argument("<name>", "the subsystem")
    .option(...CLUSTER_FLAG)
    .action((name: string, flags: ClusterFlag & ConditionFlags) =>
      shell.run(remove, async (session) => {
        const client = await session.client();
        const cluster = await whichCluster(client, flags.cluster);
        await client.removeSubsystem({ cluster, name, ifRevision: flags.ifRevision });
        return {
          json: { removed: name, cluster },
          text: () => `subsystem ${name} of cluster ${cluster} removed`,
        };
      }),
    );
}

interface AddFlags extends ClusterFlag, ConditionFlags {
  readonly name?: string;
  readonly file?: string;
}

function declareAdd(command: Command, shell: Shell): void {
  const add = command
    .command("add")
    .description("Add a subsystem to a cluster, or replace the one of its name.");
  addIfRevision(add)
    .argument("[file]", 'the document, as JSON ("-": standard input)')
    .option("--file <file>", "the same")
    .option(...CLUSTER_FLAG)
    .option("--name <name>", "its name (default: the type of its root)", notEmpty("--name"))
    .addHelpText(
      "after",
      `
Examples:
  busbar subsystem add --cluster blue --name io cluster-io-subsystem.json
  busbar subsystem add spack.json`,
    )
    .action((file: string | undefined, flags: AddFlags) =>
      shell.run(add, (session) => addSubsystem(session, file, flags)),
    );
}

async function addSubsystem(
  session: Session,
  argument: string | undefined,
  flags: AddFlags,
): Promise<Answer> {
  if (argument !== undefined && flags.file !== undefined) {
    throw invalid("--file", "cannot be combined with a file as argument");
  }
  const file = argument ?? flags.file;
  if (file === undefined) throw invalid("<file>", 'is missing; "-" is standard input');
  const content = await session.context.readInput(file, limits.documentBytesMax);
  const graph = content.toString("utf8");
  const name = flags.name ?? subsystemNameOf(graph, file);
  const client = await session.client();
  const cluster = await whichCluster(client, flags.cluster);
  const row = toClusterRow(
    await client.addSubsystem({ cluster, name, graph, ifRevision: flags.ifRevision }),
  );
  const { vertices = 0, links = 0 } = row.subsystems?.find((each) => each.name === name) ?? {};
  return {
    json: row,
    text: () =>
      `subsystem ${name} added to cluster ${row.name}: ${vertices} vertices, ${links} links`,
  };
}

async function listSubsystems(session: Session, flags: ClusterFlag): Promise<RowsAnswer> {
  const client = await session.client();
  const cluster = await whichCluster(client, flags.cluster);
  const { subsystems } = toClusterRow(await client.getCluster({ name: cluster }));
  return {
    json: { cluster, subsystems },
    text: (page) =>
      subsystems.length === 0
        ? `cluster ${cluster} has no subsystems`
        : renderSubsystems(subsystems, page),
    rows: shownRows(SUBSYSTEMS, subsystems),
  };
}
