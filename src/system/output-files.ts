import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, invalid } from "../lib/errors.ts";
import { makeDirectory } from "../lib/make-directory.ts";

/** Writes named files into a folder, which it creates. Writes nothing when one of them exists. */
export async function writeNewFiles(
  folder: string,
  files: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const paths = Object.keys(files).map((name) => join(folder, name));
  for (const path of paths) if (await isThere(path)) throw exists(path);
  try {
    makeDirectory(folder, 0o777);
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(folder, name), text, { flag: "wx" });
    }
  } catch (cause) {
    throw new AppError("unavailable", `cannot write into ${folder}`, { cause });
  }
  return paths;
}

/** Replaces the content of a file, or creates the file. */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (cause) {
    throw new AppError("unavailable", `cannot write ${path}`, { cause });
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

const exists = (path: string): AppError =>
  invalid(path, "already exists; remove it, or choose another folder");
