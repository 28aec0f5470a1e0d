import type { WatchEvent } from "../../client/messages.ts";
import { followEvents, type Following } from "../jobs/follow.ts";
import type { RowKind } from "../render/table.ts";
import type { Session } from "../session.ts";
import { createListReader } from "./list-reader.ts";
import { RowBook } from "./row-book.ts";

/** Listed rows, and the revision from which a watch misses nothing. */
export interface Listed<Row> {
  readonly rows: readonly Row[];
  readonly revision: bigint;
}

/** The change of a list by an event; undefined: none. */
export type SeenRow<Row> = { readonly row: Row } | { readonly removed: string } | undefined;

/** A list that is kept up to date. */
export interface LiveList<Row> {
  readonly kind: RowKind<Row>;
  readonly following: Omit<Following, "afterRevision">;
  list(): Promise<Listed<Row>>;
  /** Absent if events have too little data: the list is then read again. */
  readonly see?: (event: WatchEvent["event"]) => SeenRow<Row>;
  /** Of two versions of a row the one with the larger value is newer. */
  revisionOf(row: Row): number;
  /** The shown rows, in their order. */
  choose(rows: readonly Row[]): readonly Row[];
  /** How often to read rows again whose amounts have no events; absent: never. */
  readonly refreshMs?: number;
}

export interface RowChange<Row> {
  readonly name: string;
  /** Undefined: it was removed, or no longer belongs to the list. */
  readonly row: Row | undefined;
}

/**
 * Reports the rows, and then every change of them, until the signal fires. Changes come from a watch,
 * which resumes from its revision after a lost connection; if it starts over, the list is read again.
 */
export async function followList<Row>(
  session: Session,
  live: LiveList<Row>,
  signal: AbortSignal,
  tell: (rows: readonly Row[], changes: readonly RowChange<Row>[]) => Promise<void>,
): Promise<void> {
  const book = new RowBook(live);
  const { rows, revision } = await live.list();
  const first = book.replace(rows);
  await tell(book.shown, first);
  const failed = new AbortController();
  const ended = AbortSignal.any([signal, failed.signal]);
  const reader = createListReader(session, live, ended, async (listed) => {
    const changes = book.replace(listed);
    if (changes.length > 0) await tell(book.shown, changes);
  });
  const reading = reader.run().catch((error: unknown) => failed.abort(error));
  try {
    const following = { ...live.following, afterRevision: revision };
    let syncs = 0;
    for await (const { event } of followEvents(session, following, { signal: ended })) {
      if (event.case === "ask") reader.want();
      else if (event.case === "sync") {
        // The first sync is of the watch that begins where the list was read.
        syncs += 1;
        if (syncs > 1) reader.want();
      } else if (event.case === "bookmark" || event.case === undefined) continue;
      else if (live.see === undefined) reader.want();
      else {
        const changes = book.see(live.see(event));
        if (changes.length > 0) await tell(book.shown, changes);
      }
    }
  } finally {
    failed.abort();
    await reading;
  }
}
