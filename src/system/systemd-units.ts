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

  async install(folder, name, text, starts) {
    const file = join(folder, name);
    await checkOurs(file);
    try {
      await writeFile(file, text);
    } catch (cause) {
      throw new AppError("permission_denied", `cannot write ${file}; are you root?`, { cause });
    }
    if (!starts) return file;
    await systemctl("daemon-reload");
    await systemctl("enable", name);
    await systemctl("restart", name);
    return file;
  },

  async uninstall(folder, name) {
    const file = join(folder, name);
    if (!(await checkOurs(file))) throw new AppError("not_found", `there is no ${file}`);
    await systemctl("disable", "--now", name);
    await rm(file);
    await systemctl("daemon-reload");
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

async function systemctl(...args: string[]): Promise<void> {
  try {
    await run("systemctl", args);
  } catch (cause) {
    const { stderr } = cause as { readonly stderr?: string };
    const why = stderr === undefined || stderr.trim() === "" ? String(cause) : stderr.trim();
    throw new AppError("unavailable", `systemctl ${args.join(" ")}: ${why}`);
  }
}
