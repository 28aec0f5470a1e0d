import type { Command } from "commander";
import { parseAddress } from "../../lib/address.ts";
import { AppError } from "../../lib/errors.ts";
import { toIssuedRow } from "../json.ts";
import { notEmpty } from "../flags.ts";
import type { IssuedRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { CLUSTER_FLAG, whichCluster } from "../clusters/which-cluster.ts";

const HELP = `
The server stores only hashes of credentials. So the export makes new ones, and the server rejects the old
ones from then on: --rotate says that you mean it.

Examples:
  (umask 077; busbar rainbow-config export --cluster blue --rotate >rainbow-config.yaml)
  busbar rainbow-config export --cluster blue --rotate --token-only --host blue.example.org:50051`;

interface ExportFlags {
  readonly cluster?: string;
  readonly host: string;
  readonly rotate?: true;
  readonly tokenOnly?: true;
}

export function declareExport(command: Command, shell: Shell): void {
  const exports = command
    .command("export")
    .description("Print a rainbow-config.yaml for a cluster and its users, with new credentials.");
  exports
    .option(...CLUSTER_FLAG)
    .option(
      "--host <address>",
      "the address that its clients call",
      notEmpty("--host"),
      "127.0.0.1:50051",
    )
    .option("--rotate", "replace the old credentials with new ones")
    .option(
      "--token-only",
      "for users of the cluster: write only a new token; the secret stays as it is",
    )
    .addHelpText("after", HELP)
    .action((flags: ExportFlags) => shell.run(exports, (session) => exportConfig(session, flags)));
}

async function exportConfig(session: Session, flags: ExportFlags): Promise<Answer> {
  const { host, rotate, tokenOnly = false } = flags;
  parseAddress(host, "--host");
  if (rotate !== true) {
    throw new AppError(
      "invalid_argument",
      "--rotate: is missing; the export creates new credentials, and the server rejects the old ones from then on",
    );
  }
  const client = await session.client();
  const cluster = await whichCluster(client, flags.cluster);
  const which = { secret: !tokenOnly, token: true };
  const { issued } = await client.rotateClusterCredentials({ cluster, ...which });
  await session.note(
    "the credentials in it are not shown again; store it where only you can read it",
  );
  const config = configOf(cluster, host, issued === undefined ? {} : toIssuedRow(issued));
  return { json: config, text: () => toYaml(config, "").join("\n") };
}

/** The form that all of rainbow's clients read, with rainbow's defaults where we have no value. */
const configOf = (cluster: string, host: string, { secret, token = "" }: IssuedRow) => ({
  scheduler: {
    name: cluster,
    algorithms: { selection: { name: "random" }, match: { name: "match" } },
  },
  cluster: { name: cluster, ...(secret && { secret }) },
  graphdatabase: { name: "memory", host, options: { host } },
  clusters: [{ name: cluster, token }],
});

type Tree = string | { readonly [key: string]: Tree } | readonly Tree[];

/** Texts in quotes, so that YAML always reads them as texts. */
function toYaml(tree: Tree, indent: string): string[] {
  if (typeof tree === "string") return [`${indent}${JSON.stringify(tree)}`];
  if (isList(tree)) {
    return tree.flatMap((item) => {
      const [first = "", ...rest] = toYaml(item, `${indent}    `);
      return [`${indent}  - ${first.trimStart()}`, ...rest];
    });
  }
  return Object.entries(tree).flatMap(([key, value]) =>
    typeof value === "string"
      ? [`${indent}${key}: ${JSON.stringify(value)}`]
      : [`${indent}${key}:`, ...toYaml(value, isList(value) ? indent : `${indent}  `)],
  );
}

const isList = (tree: Tree): tree is readonly Tree[] => Array.isArray(tree);
