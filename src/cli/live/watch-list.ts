import type { Command } from "commander";
import { csvCells, csvHeader } from "../formats/answers.ts";
import { csvLine } from "../formats/csv-text.ts";
import type { TerminalPage } from "../render/page.ts";
import { renderRows } from "../render/table.ts";
import { pageOf, type Session } from "../session.ts";
import { createLineTable } from "./line-table.ts";
import { followList, type LiveList, type RowChange } from "./live-list.ts";
import { openScreen } from "./screen.ts";
import { untilStopped } from "./until-stopped.ts";

export interface WatchFlag {
  readonly watch?: true;
}

export const addWatchFlag = (command: Command): Command =>
  command.option("-w, --watch", "print each change until Ctrl-C; on a terminal redraw the table");

/** How often to read rows again whose counts have no events. */
export const COUNTS_REFRESH_MS = 2_000;

/** A screen is drawn at most so often, and at least so often: ages grow. */
const DRAW_MS_MIN = 100;
const DRAW_MS_MAX = 1_000;

/** Shows a list and its changes until the user stops it. */
export const watchList = <Row>(session: Session, live: LiveList<Row>): Promise<number> =>
  untilStopped(session.context, async ({ signal }) => {
    await (isDrawn(session)
      ? drawList(session, live, signal)
      : printChanges(session, live, signal));
    return 0;
  });

const isTable = ({ output }: Session): boolean => output === "table" || output === "wide";

const isDrawn = (session: Session): boolean =>
  session.context.stdout.isTerminal && isTable(session);

/** The number of rows to keep: on a screen those of the list. Elsewhere each change is a line, also for rows beyond the list. */
export const rowsKept = (session: Session, limit: number): number =>
  isDrawn(session) ? limit : Math.max(limit, ROWS_KEPT);

const ROWS_KEPT = 10_000;

async function drawList<Row>(
  session: Session,
  live: LiveList<Row>,
  signal: AbortSignal,
): Promise<void> {
  const { context } = session;
  let rows: readonly Row[] | undefined;
  let word = "";
  let isChanged = new AbortController();
  const screen = await openScreen(context);
  const frame = (): readonly string[] => {
    if (rows === undefined) return [];
    const page = pageOf(context, session.output);
    return renderRows(live.kind, rows, page).split("\n");
  };
  const ended = new AbortController();
  const either = AbortSignal.any([signal, ended.signal]);
  const told: Session = {
    ...session,
    // A screen has no place for messages.
    note: async (message) => {
      word = message;
      isChanged.abort();
    },
  };
  const following = followList(told, live, either, async (now) => {
    rows = now;
    word = "";
    isChanged.abort();
  }).finally(() => ended.abort());
  following.catch(() => undefined); // It is awaited below; until then nothing would handle an error.
  const undo = context.onResize(() => isChanged.abort());
  try {
    while (!either.aborted) {
      isChanged = new AbortController();
      await screen.draw(frame(), word === "" ? `${live.kind.plural}; Ctrl-C ends` : word);
      await context.sleep(DRAW_MS_MIN, either);
      await context.sleep(DRAW_MS_MAX, AbortSignal.any([either, isChanged.signal]));
    }
    await following; // Throws the reason of its end.
  } finally {
    undo();
    ended.abort();
    await following.catch(() => undefined);
    await screen.leave(frame());
  }
}

async function printChanges<Row>(
  session: Session,
  live: LiveList<Row>,
  signal: AbortSignal,
): Promise<void> {
  const print = printer(session, live);
  await followList(session, live, signal, (_, changes) => print(changes));
}

/** A line for each change, in the requested format. */
function printer<Row>(session: Session, { kind }: LiveList<Row>) {
  const { output } = session;
  const table = createLineTable(kind);
  let isFirst = true;
  const lines = (changes: readonly RowChange<Row>[], page: TerminalPage): readonly string[] => {
    const rows = changes.flatMap(({ row }) => (row === undefined ? [] : [row]));
    if (output === "name") return rows.map((row) => kind.name(row));
    if (output === "csv") {
      const head = isFirst ? [csvHeader(kind, page)] : [];
      return [...head, ...rows.map(csvCells(kind, page))].map(csvLine);
    }
    const gone = changes.filter(({ row }) => row === undefined);
    return [...table.lines(rows, page), ...gone.map(({ name }) => `${name} is no longer listed`)];
  };
  return async (changes: readonly RowChange<Row>[]): Promise<void> => {
    if (session.format === "json") {
      for (const { name, row } of changes) {
        await session.print(row ?? { removed: name }, () => "");
      }
      return;
    }
    const text = lines(changes, pageOf(session.context, output)).join("\n");
    isFirst = false;
    if (text !== "") await session.print(undefined, () => text);
  };
}
