import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Outcome, type Running, Site } from "../../support/busbar.ts";
import { builtPrograms } from "./go-programs.ts";

const sources = fileURLToPath(new URL("../goschedule", import.meta.url));

/** The directory with a worker and a schedctl like go-schedule's. */
export const goSchedulePrograms = (): Promise<string> =>
  builtPrograms({ name: "go-schedule", sources, packages: ["worker", "schedctl"] });

/** Neither dials through a proxy. */
const ENV = { no_proxy: "*" };

/** One of a file for schedctl. */
export interface GoTask {
  readonly cmd?: string;
  readonly params?: readonly string[];
}

export interface TaskRow {
  readonly id: string;
  readonly state: string;
  readonly worker: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** A Busbar with a port for go-schedule's programs, and these. */
export class GoScheduleSite extends Site {
  /** Where they call. */
  goSchedule = "";

  #programs = "";
  #server: Running | undefined;
  #files = 0;

  /** Starts it, or starts it again at the same addresses. */
  async startGoSchedule(...flags: string[]): Promise<void> {
    this.#programs = await goSchedulePrograms();
    const at = this.goSchedule === "" ? "127.0.0.1:0" : this.goSchedule;
    this.#server = await this.startServer("--go-schedule", at, ...flags);
    this.goSchedule = await this.#server.prints(/go-schedule:\s+(\S+:\d+)/i);
  }

  async killServer(): Promise<void> {
    await this.#server?.end("SIGKILL");
  }

  /** In a working directory of its own; soon back when it loses its connection. */
  startWorker(name: string, ...flags: string[]): Running {
    const cwd = this.path(`worker-${name}`);
    mkdirSync(cwd, { recursive: true });
    const args = ["-server", this.goSchedule, "-reconnect", "0.2", ...flags];
    return this.startProgram(args, { program: join(this.#programs, "worker"), cwd, env: ENV });
  }

  schedctl(...args: string[]): Promise<Outcome> {
    return new Promise((resolve) => {
      const options = { env: { ...process.env, ...ENV }, maxBuffer: 2 ** 28 };
      const all = ["-server", this.goSchedule, ...args];
      execFile(join(this.#programs, "schedctl"), all, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** `tasks schedule`, which must succeed. Returns the table that it prints. */
  async schedule(tasks: readonly GoTask[]): Promise<readonly TaskRow[]> {
    const file = this.path(`tasks-${this.#files++}.yaml`);
    writeFileSync(file, JSON.stringify({ tasks }));
    return taskRows(await this.schedctl("tasks", "schedule", "-f", file));
  }

  /** `tasks ls`, which must succeed. */
  async tasks(): Promise<readonly TaskRow[]> {
    return taskRows(await this.schedctl("tasks", "ls"));
  }
}

/** Rows of a table of tasks; lines that an output broke off are left out. */
function taskRows({ code, stdout, stderr }: Outcome): readonly TaskRow[] {
  if (code !== 0) throw new Error(`schedctl: ${code} ${stderr}`);
  return tableRows(stdout).flatMap((row) => {
    const [id = "", state = "", worker = "", out = "", err = ""] = row;
    return row.length === 5 ? [{ id, state, worker, stdout: out, stderr: err }] : [];
  });
}

/** What stands between the lines of a table, without its head. */
export const tableRows = (table: string): readonly (readonly string[])[] =>
  table
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split("|").map((cell) => cell.trim()));
