import { setImmediate as nextTurn } from "node:timers/promises";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { TaskPlace } from "../../../server/operations/operations.ts";
import type { NewestTaskView } from "../../../server/views/views.ts";
import { type BoundedRow, BoundedRows } from "./bounded-rows.ts";
import { encodeList, encodeOutputs, encodeTask, bytesInList } from "../encode.ts";
import type { GoScheduleOperations } from "../operations.ts";
import type { Preview, Previews, ReadableAttempt } from "./previews.ts";
import { taskStateOf } from "../task-state.ts";
import { cutText, oneLine, PREVIEW_BYTES } from "../texts.ts";

export interface Listing {
  readonly operations: Pick<GoScheduleOperations, "listNewestTasks" | "readOutputStart">;
  readonly previews: Previews;
  readonly clock: Clock;
}

interface Row extends BoundedRow {
  readonly head: Uint8Array;
  /** Where its outputs are read, if they are unknown. */
  readonly attempt: ReadableAttempt | undefined;
  readonly preview: Preview | undefined;
}

/** Two outputs, each with its tag and its length. */
const OUTPUTS_BYTES = 2 * (PREVIEW_BYTES + 2);

/**
 * A TaskList of all tasks, newest first, within the size that clients accept. Made page by page, so that other work has its turn in
 * between.
 */
export async function listTasks(listing: Listing): Promise<Buffer> {
  const rows = (await collect(listing)).finish();
  const wanted = rows.flatMap(({ attempt }) => (attempt === undefined ? [] : [attempt]));
  if (wanted.length > 0) await listing.previews.readSome(wanted, listing);
  return encodeList(
    rows.map(({ head, attempt, preview }) => {
      const known = preview ?? (attempt && listing.previews.get(attempt));
      return known === undefined ? [head] : [head, encodeOutputs(known)];
    }),
  );
}

async function collect({ operations, previews }: Listing): Promise<BoundedRows<Row>> {
  const rows = new BoundedRows<Row>(limits.listedBytesMax);
  let from: TaskPlace | undefined;
  let openLeft: number | undefined;
  let readsLeft: number = limits.previewsPerListMax;
  for (;;) {
    const page = await operations.listNewestTasks({ from, isOpenOnly: !rows.hasRoomForOver });
    openLeft ??= page.openTotal;
    for (const task of page.tasks) {
      const row = toRow(task, previews, readsLeft > 0);
      if (row.attempt !== undefined) readsLeft--;
      if (!task.isOver) openLeft--;
      rows.add(row);
    }
    from = page.next;
    const isAll = openLeft <= 0 && !rows.hasRoomForOver;
    if (from === undefined || rows.isFull || isAll) return rows;
    await nextTurn();
  }
}

function toRow(task: NewestTaskView, previews: Previews, mayRead: boolean): Row {
  const head = encodeTask({
    id: task.id,
    command: shorten(task.command),
    state: taskStateOf(task),
    workerId: task.node ?? task.cluster ?? "",
    workerError: oneLine(task.isOver ? (task.reason ?? "") : "", limits.listedReasonBytesMax),
  });
  const preview = task.isOver ? previews.get(task) : undefined;
  const isReadable = mayRead && preview === undefined && task.isOver && task.node !== undefined;
  const attempt = isReadable ? { ...task, taskId: task.id } : undefined;
  const outputs = attempt === undefined && preview === undefined ? 0 : OUTPUTS_BYTES;
  return {
    head,
    attempt,
    preview,
    isOver: task.isOver,
    sizeBytes: bytesInList(head.length + outputs),
  };
}

/** Arguments may be long and many, and schedctl shows none. */
function shorten(command: readonly string[]): readonly string[] {
  const short: string[] = [];
  let left: number = limits.listedCommandBytesMax;
  for (const argument of command) {
    if (left <= 0) break;
    const text = cutText(argument, left);
    left -= Buffer.byteLength(text) + 2;
    short.push(text);
  }
  return short;
}
