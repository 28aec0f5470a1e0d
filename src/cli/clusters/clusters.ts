import type { Command } from "commander";
import { toClusterRow } from "../json.ts";
import { renderClusters } from "../render/clusters.ts";
import type { Answer, Session, Shell } from "../session.ts";

export function declareClusters(command: Command, shell: Shell): void {
  command
    .addHelpText("after", "\nExample:\n  busbar clusters")
    .action(() => shell.run(command, listClusters));
}

export async function listClusters(session: Session): Promise<Answer> {
  const client = await session.client();
  const clusters = (await client.listClusters({})).clusters.map(toClusterRow);
  return {
    json: { clusters },
    text: (page) => (clusters.length === 0 ? "no clusters" : renderClusters(clusters, page)),
  };
}
