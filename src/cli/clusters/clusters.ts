import type { Command } from "commander";
import { listed, type RowsAnswer } from "../formats/answers.ts";
import { toClusterRow } from "../json.ts";
import { addWatchFlag, COUNTS_REFRESH_MS, watchList, type WatchFlag } from "../live/watch-list.ts";
import { CLUSTERS } from "../render/clusters.ts";
import type { Session, Shell } from "../session.ts";

export function declareClusters(command: Command, shell: Shell): void {
  addWatchFlag(command)
    .addHelpText("after", "\nExamples:\n  busbar clusters\n  busbar clusters --watch")
    .action(({ watch }: WatchFlag) =>
      shell.list(command, (session) =>
        watch === true ? watchClusters(session) : listClusters(session),
      ),
    );
}

export async function listClusters(session: Session): Promise<RowsAnswer> {
  return listed(CLUSTERS, (await readClusters(session)).rows);
}

async function readClusters(session: Session) {
  const { clusters, revision } = await (await session.client()).listClusters({});
  return { rows: clusters.map(toClusterRow), revision };
}

/** Events of a cluster lack the fields that follow from nodes and tasks. */
const watchClusters = (session: Session): Promise<number> =>
  watchList(session, {
    kind: CLUSTERS,
    following: { clusters: true },
    list: () => readClusters(session),
    revisionOf: (cluster) => cluster.revision,
    choose: (clusters) => clusters,
    refreshMs: COUNTS_REFRESH_MS,
  });
