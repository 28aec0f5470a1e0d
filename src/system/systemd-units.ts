import { execFile } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError } from "../lib/errors.ts";
import { packageRoot } from "../lib/files/package-root.ts";
import type { Units } from "../cli/context.ts";

const run = promisify(execFile);
/** The mark of unit files that Busbar wrote. */
const MARK = "# Made by `busbar service install";

/** Unit files of systemd, which systemctl reads again after each change. */
export const systemdUnits: Units = {
  program: join(packageRoot(import.meta.dirname), "busbar"),

  hasUser: (name) =>
    run("id", ["-u", "--", name]).then(
      () => true,
      () => false,
    ),

  async install(folder, name, text, starts) {
    const file = join(folder, name);
    const existed = await checkOurs(file);
    try {
      await writeFile(file, text);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") {
        throw new AppError("not_found", `there is no directory ${folder}; make it first`);
      }
      throw new AppError("permission_denied", `cannot write ${file}; are you root?`, { cause });
    }
    if (!starts) return file;
    await systemctl("daemon-reload").catch(async (error: unknown) => {
      if (!existed) await rm(file); // no systemd runs here: the unit would only be in the way
      throw error;
    });
    await systemctl("enable", name);
    await systemctl("restart", name);
    return file;
  },

  async uninstall(folder, name) {
    const file = join(folder, name);
    if (!(await checkOurs(file))) throw new AppError("not_found", `there is no ${file}`);
    const wasLoaded = await systemctl("disable", "--now", name).then(
      () => true,
      async (error: unknown) => {
        if (await isKnown(name)) throw error;
        return false; // --no-start wrote it, for another folder or another machine
      },
    );
    await rm(file);
    if (wasLoaded) await systemctl("daemon-reload");
    return file;
  },
};

/** False: there is no such unit. Throws for a unit that Busbar did not write, so that no command overwrites or removes it. */
async function checkOurs(file: string): Promise<boolean> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw new AppError("permission_denied", `cannot read ${file}`, { cause: error });
  }
  if (text.startsWith(MARK)) return true;
  throw new AppError("already_exists", `${file} was not made by busbar; move it away first`);
}

/** Whether a systemd runs here and has such a unit. */
const isKnown = (name: string): Promise<boolean> =>
  run("systemctl", ["show", "--property=FragmentPath", "--value", name]).then(
    ({ stdout }) => stdout.trim() !== "",
    () => false,
  );

async function systemctl(...args: string[]): Promise<void> {
  try {
    await run("systemctl", args);
  } catch (cause) {
    const { stderr } = cause as { readonly stderr?: string };
    const why = stderr === undefined || stderr.trim() === "" ? String(cause) : stderr.trim();
    throw new AppError("unavailable", `systemctl ${args.join(" ")}: ${why}`);
  }
}
