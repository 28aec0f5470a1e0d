import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { AppError, invalid } from "../../../lib/errors.ts";
import { checkBackup, type CheckedBackup } from "./restore.ts";

/** Writes a backup to a temporary file, reads it back completely, and only then renames it. */
export async function saveBackup(
  file: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<CheckedBackup & { readonly file: string }> {
  const aside = `${file}.part-${process.pid}`;
  const target = await open(aside, "wx", 0o600).catch((cause: unknown) => {
    throw new AppError("unavailable", `cannot write ${aside}: choose another place`, { cause });
  });
  try {
    try {
      for await (const chunk of bytes) await target.writeFile(chunk);
      await target.sync();
    } finally {
      await target.close();
    }
    const checked = checkBackup(aside);
    await link(aside, file).catch((cause: unknown) => {
      const isThere = cause instanceof Error && "code" in cause && cause.code === "EEXIST";
      if (isThere) throw invalid("FILE", `${file} already exists; choose another name`);
      throw cause;
    });
    await syncDirectory(dirname(file));
    return { file, ...checked };
  } finally {
    await rm(aside, { force: true });
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  await handle.sync();
  await handle.close();
}
