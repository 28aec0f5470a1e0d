import { type Command, Option } from "commander";
import { AppError } from "../../lib/errors.ts";
import { oneOf } from "../flags.ts";
import { openScreen } from "../live/screen.ts";
import { untilStopped } from "../live/until-stopped.ts";
import { type Answer, pageOf, type Session, type Shell } from "../session.ts";
import { readTop, type TopFrame } from "./read-top.ts";
import { renderTop, type TopOrder, topOrders } from "./render-top.ts";

interface TopFlags {
  readonly once?: true;
  readonly sort: TopOrder;
}

/** Between two frames, and between the two reads that a rate needs. */
const FRAME_MS = 1_000;

export function declareTop(command: Command, shell: Shell): void {
  command
    .option("--once", "print one frame and exit (default where there is no terminal)")
    .addOption(
      new Option("--sort <order>", "sort nodes by their use of this resource, or by name")
        .choices(topOrders)
        .argParser(oneOf("--sort", topOrders))
        .default("cpu"),
    )
    .addHelpText(
      "after",
      `
Shows running and pending jobs, and the use of nodes and groups, every second. Keys: c, m, t and n sort
nodes by CPU, memory, tasks and name; q quits. It reads the newest 100 pending and 100 running jobs.

Examples:
  busbar top
  busbar top --once --sort memory
  busbar top --output json`,
    )
    .action((flags: TopFlags) => shell.run(command, (session) => top(session, flags)));
}

async function top(session: Session, flags: TopFlags): Promise<Answer | number> {
  const { context } = session;
  const isLive = context.stdout.isTerminal && session.format === "table" && flags.once !== true;
  return isLive ? showFrames(session, flags.sort) : oneFrame(session, flags.sort);
}

/** A rate needs two reads. */
async function oneFrame(session: Session, order: TopOrder): Promise<Answer> {
  const { context } = session;
  const client = await session.client();
  const nowMs = (): number => context.nowMs();
  const before = await readTop(client, nowMs, undefined);
  await context.sleep(FRAME_MS, new AbortController().signal);
  const frame = await readTop(client, nowMs, before);
  return { json: frame, text: (page) => renderTop(frame, { order, rows: undefined }, page) };
}

const showFrames = (session: Session, first: TopOrder): Promise<number> =>
  untilStopped(session.context, async ({ signal, stop }) => {
    const { context } = session;
    let order = first;
    let wake = new AbortController();
    const client = await session.client();
    const nowMs = (): number => context.nowMs();
    let frame: TopFrame = await readTop(client, nowMs, undefined);
    const screen = await openScreen(context);
    const lines = (rows: number | undefined): readonly string[] => {
      const page = pageOf(context, session.output);
      return renderTop(frame, { order, rows }, page).split("\n");
    };
    const undos = [
      context.onResize(() => wake.abort()),
      context.onKey((key) => {
        if (key === "q" || key === "\u0003") return stop(key === "q" ? 0 : INTERRUPTED);
        order = topOrders.find((each) => each.startsWith(key.toLowerCase())) ?? order;
        wake.abort();
      }),
    ];
    try {
      let word = "";
      let dueMs = context.nowMs() + FRAME_MS;
      for (;;) {
        await screen.draw(lines(context.stdout.rows), word === "" ? `${KEYS} (${order})` : word);
        wake = new AbortController();
        await context.sleep(
          Math.max(0, dueMs - context.nowMs()),
          AbortSignal.any([signal, wake.signal]),
        );
        signal.throwIfAborted();
        if (context.nowMs() < dueMs) continue; // A key or another size: redraws the same frame.
        const read = await readTop(client, nowMs, frame).catch(away);
        word = read instanceof AppError ? `${read.message}; trying again` : "";
        if (!(read instanceof AppError)) frame = read;
        dueMs = context.nowMs() + FRAME_MS;
      }
    } finally {
      for (const undo of undos) undo();
      await screen.leave(lines(undefined));
    }
  });

const INTERRUPTED = 130;
const KEYS = "sort nodes: c cpu, m memory, t tasks, n name; q ends";

/** A restarted server comes back. */
function away(error: unknown): AppError {
  if (error instanceof AppError && error.code === "unavailable") return error;
  throw error;
}
