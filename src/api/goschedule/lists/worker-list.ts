import { limits } from "../../../limits.ts";
import type { NodeView } from "../../../server/views/views.ts";
import { type BoundedRow, BoundedRows } from "./bounded-rows.ts";
import { encodeList, encodeWorker, bytesInList } from "../encode.ts";
import type { GoScheduleOperations } from "../operations.ts";
import { workerStateOf } from "../task-state.ts";

interface Row extends BoundedRow {
  readonly bytes: Uint8Array;
}

/** The old server sends this for every worker. */
const NO_ADDRESS = "TBD";

/** A WorkerNodeList of all nodes, whatever agent they have; disconnected ones are dropped first. */
export async function listWorkers(
  operations: Pick<GoScheduleOperations, "listNodes">,
): Promise<Buffer> {
  const rows = new BoundedRows<Row>(limits.listedBytesMax);
  let pageToken: string | undefined;
  do {
    const page = await operations.listNodes({}, { pageSize: limits.pageSizeMax, pageToken });
    for (const node of page.nodes) rows.add(toRow(node));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined && !rows.isFull);
  return encodeList(rows.finish().map(({ bytes }) => [bytes]));
}

function toRow(node: NodeView): Row {
  const state = workerStateOf[node.state];
  const { name: id, address = NO_ADDRESS, tasks } = node;
  const bytes = encodeWorker({ id, address, state, tasks });
  return { bytes, isOver: state === "disconnected", sizeBytes: bytesInList(bytes.length) };
}
