import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { compileHere } from "../../native/compile.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A real tarball of this checkout and the folders it is installed into. It has the launcher of this
 * machine only: `npm pack` itself also compiles the other one, with a compiler that tests do not need.
 */
export class PackageBed {
  readonly directory = mkdtempSync(join(tmpdir(), "busbar-package-"));
  tarball = "";

  /** npm's variables for its scripts would change an npm below. */
  readonly env: NodeJS.ProcessEnv = Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) =>
        !/^npm_(?:package|lifecycle|config_(?:save|loglevel|.*prefix))|^NODE_(?:ENV|OPTIONS)$|^BUSBAR_/.test(
          name,
        ),
    ),
  );

  path(...names: string[]): string {
    return join(this.directory, ...names);
  }

  /** The search path without any Node, or with the one that runs this test. */
  searchPath(node?: "with-node"): string {
    const folders = (process.env["PATH"] ?? "").split(delimiter);
    const others = folders.filter((folder) => !folder.includes("node_modules"));
    return [...(node === undefined ? [] : [dirname(process.execPath)]), ...others].join(delimiter);
  }

  async pack(): Promise<void> {
    const stage = this.path("stage");
    const tool = (name: string) => join(root, "node_modules/.bin", name);
    await run(tool("rolldown"), ["-c", "--dir", join(stage, "dist")], { cwd: root });
    const types = ["--project", "src/client/tsconfig.json", "--outDir", join(stage, "dist/types")];
    await run(tool("tsc"), types, { cwd: root });
    compileHere();
    cpSync(join(root, "dist/native"), join(stage, "dist/native"), { recursive: true });
    for (const name of ["busbar", "package.json", "README.md", "LICENSE", "proto"]) {
      cpSync(join(root, name), join(stage, name), { recursive: true });
    }
    const packed = ["pack", "--ignore-scripts", "--pack-destination", this.directory];
    await this.must("npm", packed, stage);
    const [name = ""] = readdirSync(this.directory).filter((file) => file.endsWith(".tgz"));
    this.tarball = this.path(name);
  }

  /** Into `name` below this bed; npm does not download a package twice. */
  async install(name: string, ...flags: string[]): Promise<string> {
    const folder = this.path(name);
    mkdirSync(folder, { recursive: true });
    const quiet = ["--no-audit", "--no-fund", "--prefer-offline"];
    await this.must("npm", ["install", ...quiet, ...flags, this.tarball], folder);
    return folder;
  }

  exec(
    program: string,
    args: readonly string[],
    options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
  ): Promise<Ran> {
    const { cwd = this.directory, env = {} } = options;
    return new Promise((resolve) => {
      const all = { cwd, env: { ...this.env, ...env }, maxBuffer: 2 ** 26 };
      execFile(program, args, all, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  async must(program: string, args: readonly string[], cwd?: string): Promise<string> {
    const ran = await this.exec(program, args, cwd === undefined ? {} : { cwd });
    if (ran.code !== 0)
      throw new Error(`${program} ${args.join(" ")}: ${ran.code} ${ran.stdout} ${ran.stderr}`);
    return ran.stdout;
  }

  close(): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** The root of the checkout. */
export const checkout = root;
