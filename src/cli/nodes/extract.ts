import type { Command } from "commander";
import { clusterGraph } from "../../core/graph/facts.ts";
import { type JgfDocument, toJgf } from "../../core/graph/jgf.ts";
import { subsystemsOf } from "../../core/graph/subsystems/node-subsystems.ts";
import { type Subsystem, toSubsystemJgf } from "../../core/graph/subsystems/subsystem.ts";
import { checkName } from "../../core/model/ids.ts";
import { checkNodeFacts, type NodeFacts } from "../../core/model/node/node-facts.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { notEmpty } from "../flags.ts";
import { renderMachine } from "../render/facts.ts";
import { nodeName, nodeNameOf } from "../service/services.ts";
import type { Answer, Session, Shell } from "../session.ts";

interface ExtractFlags {
  readonly name: string;
  readonly cluster: string;
  readonly from?: readonly string[];
  readonly graph?: true;
  readonly subsystem?: string;
  readonly out?: string;
}

/** A machine under its name: the output of `--output json`, and the input of `--from`. */
type Described = NodeFacts & { readonly name: string };

export function declareExtract(command: Command, shell: Shell): void {
  command
    .option("--name <node>", "name this node", nodeName("--name"), nodeNameOf(shell.context))
    .option("--cluster <name>", "name the cluster", nodeName("--cluster"), "default")
    .option("--from <file...>", "read machines from these files, which --output json printed there")
    .option("--graph", "print the graph of the cluster (JSON Graph Format)")
    .option("--subsystem <name>", "print one subsystem of it, like os", notEmpty("--subsystem"))
    .option("--out <dir>", "write graph.json and NAME-subsystem.json there", notEmpty("--out"))
    .addHelpText(
      "after",
      `
Discovers the same facts as agents do, and needs no server. Several machines make one cluster.

Examples:
  busbar extract
  busbar extract --output json >node-1.json
  busbar extract --from node-1.json node-2.json --cluster east --out east`,
    )
    .action((flags: ExtractFlags) =>
      shell.run(command, (session) => {
        refuseTwoForms(flags);
        if (flags.from !== undefined && command.getOptionValueSource("name") === "cli") {
          throw invalid(
            "--name",
            "cannot be combined with --from: the files have the names of their nodes",
          );
        }
        return extract(session, flags);
      }),
    );
}

function refuseTwoForms({ graph, subsystem, out }: ExtractFlags): void {
  const given = [
    ...(graph === undefined ? [] : ["--graph"]),
    ...(subsystem === undefined ? [] : ["--subsystem"]),
    ...(out === undefined ? [] : ["--out"]),
  ];
  const [one, other] = given;
  if (one !== undefined && other !== undefined)
    throw invalid(other, `cannot be combined with ${one}`);
}

async function extract(session: Session, flags: ExtractFlags): Promise<Answer> {
  const { context } = session;
  const nodes =
    flags.from === undefined
      ? [{ name: flags.name, ...(await context.services.extract()) }]
      : await Promise.all(flags.from.map((file) => readDescribed(session, file)));
  const { graph, subsystem, out } = flags;
  if (graph === undefined && subsystem === undefined && out === undefined) return show(nodes);
  const made = toDocuments(flags.cluster, nodes);
  if (graph !== undefined) return printed(made.graph);
  if (subsystem !== undefined) return printed(oneSubsystem(made.subsystems, subsystem));
  return await write(session, out ?? ".", made);
}

function show(nodes: readonly Described[]): Answer {
  const [first] = nodes;
  return {
    json: nodes.length === 1 ? first : { nodes },
    text: (page) =>
      nodes.map(({ name, ...facts }) => renderMachine(name, facts, page)).join("\n\n"),
  };
}

async function readDescribed({ context }: Session, file: string): Promise<Described> {
  const text = (await context.readInput(file, limits.messageBytesMax)).toString("utf8");
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (cause) {
    throw invalid(file, `is not JSON: ${cause instanceof Error ? cause.message : "unreadable"}`);
  }
  const facts = checkNodeFacts(input, file);
  const { name } = input as { readonly name?: unknown };
  if (typeof name !== "string") throw invalid(`${file}.name`, "must be the name of a node");
  return { name: checkName(name, `${file}.name`, limits.nameLengthMax), ...facts };
}

interface Documents {
  readonly graph: JgfDocument;
  readonly subsystems: ReadonlyMap<string, JgfDocument>;
}

function toDocuments(cluster: string, nodes: readonly Described[]): Documents {
  const graph = clusterGraph(cluster, nodes);
  const documentOf = (one: Subsystem): [string, JgfDocument] => [
    one.name,
    toSubsystemJgf(one, graph),
  ];
  return {
    graph: toJgf(graph),
    subsystems: new Map(subsystemsOf(cluster, nodes, graph).map(documentOf)),
  };
}

function oneSubsystem(subsystems: Documents["subsystems"], name: string): JgfDocument {
  const found = subsystems.get(name);
  if (found !== undefined) return found;
  const known = [...subsystems.keys()].join(", ");
  throw new AppError("not_found", `--subsystem: there is no "${name}"; found were: ${known}`);
}

const printed = (document: JgfDocument): Answer => ({
  json: document,
  text: () => JSON.stringify(document, undefined, 2),
});

async function write({ context }: Session, folder: string, made: Documents): Promise<Answer> {
  const files = new Map([["graph.json", made.graph]]);
  for (const [name, document] of made.subsystems) files.set(`${name}-subsystem.json`, document);
  const texts = [...files].map(([name, document]) => [name, `${JSON.stringify(document)}\n`]);
  const written = await context.writeNewFiles(folder, Object.fromEntries(texts));
  return { json: { written }, text: () => written.join("\n") };
}
