import { AppError } from "../../lib/errors.ts";
import type { Session } from "../session.ts";

const EXIT_INTERRUPTED = 130; // 128 plus SIGINT's number, as in shells

export interface Interrupts {
  count(): number;
  undo(): void;
}

/** The first Ctrl-C asks the server to cancel; the second ends the command, whatever the job does. */
export function cancelOnInterrupt(session: Session, jobId: string): Interrupts {
  let count = 0;
  const undo = session.context.onInterrupt(() => {
    count += 1;
    if (count > 1) session.context.exitNow(EXIT_INTERRUPTED);
    void cancel(session, jobId);
  });
  return { count: () => count, undo };
}

async function cancel(session: Session, id: string): Promise<void> {
  try {
    await session.note(`cancelling job ${id}; press Ctrl-C again to leave without waiting`);
    const client = await session.client();
    await client.cancelJob({ id, reason: "interrupted" });
  } catch (error) {
    const { message } = AppError.from(error, "cancel");
    await session.note(`could not cancel job ${id}: ${message}`).catch(() => undefined);
  }
}
