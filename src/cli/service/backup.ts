import type { Command } from "commander";
import { formatBytes } from "../../lib/units.ts";
import type { Answer, Session, Shell } from "../session.ts";

const PROGRESS_MS = 500;

export function declareBackup(command: Command, shell: Shell): void {
  command
    .argument("<file>", "file to write; it must not exist")
    .addHelpText(
      "after",
      `
The server continues meanwhile. Every row of the file is read back and checked before the file gets its
name. It contains hashes of credentials, and the commands and environments of all jobs.

Examples:
  busbar backup monday.backup
  busbar restore monday.backup --data /var/lib/busbar`,
    )
    .action((file: string) => shell.run(command, (session) => backUp(session, file)));
}

async function backUp(session: Session, file: string): Promise<Answer> {
  const client = await session.client();
  const { stderr } = session.context;
  const saved = await session.context.services.saveBackup(
    file,
    receive(session, client.backup({})),
  );
  if (stderr.isTerminal) await stderr.write("\r\u001B[K");
  const { revision, rows, bytes } = saved;
  const text = `Wrote ${saved.file}: revision ${revision}, ${rows} rows, ${formatBytes(bytes)}; checked.`;
  return { json: saved, text: () => text };
}

/** Passes the bytes on; on a terminal it shows how many. */
async function* receive(
  { context }: Session,
  parts: AsyncIterable<{ readonly data: Uint8Array }>,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let shownAtMs = 0;
  for await (const { data } of parts) {
    bytes += data.length;
    yield data;
    if (!context.stderr.isTerminal || context.nowMs() - shownAtMs < PROGRESS_MS) continue;
    shownAtMs = context.nowMs();
    await context.stderr.write(`\r${formatBytes(bytes)} received`);
  }
}
