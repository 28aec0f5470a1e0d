import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stateName } from "../../../src/client/state.ts";
import { type Outcome, type Running, Site } from "../../support/busbar.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { lastingAddress } from "../../support/lasting-address.ts";
import { builtPrograms } from "./go-programs.ts";

const sources = fileURLToPath(new URL("../goschedule", import.meta.url));

/** The directory with a worker and a schedctl like go-schedule's. */
export const goSchedulePrograms = (): Promise<string> =>
  builtPrograms({ name: "go-schedule", sources, packages: ["worker", "schedctl"] });

/** Neither connects through a proxy. */
const ENV = { no_proxy: "*" };

/** One task of a file for schedctl. */
export interface GoTask {
  readonly cmd?: string;
  readonly params?: readonly string[];
}

/** The task in Busbar. */
export interface KnownTask {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly node: string;
  readonly exitCode: number | undefined;
  readonly reason: string;
}

/** A Busbar with a port for go-schedule's programs, and these programs. */
export class GoScheduleSite extends Site {
  /** The address that they use. */
  goSchedule = "";

  #programs = "";
  #server: Running | undefined;
  #files = 0;

  /** Starts it, or restarts it at the same addresses. */
  async startGoSchedule(...flags: string[]): Promise<void> {
    this.#programs = await goSchedulePrograms();
    const at = this.goSchedule || (await lastingAddress());
    this.#server = await this.startServer("--go-schedule", at, ...flags);
    this.goSchedule = await this.#server.prints(/go-schedule:\s+(\S+:\d+)/i);
  }

  override async close(): Promise<void> {
    const removeKept = keptBy(this.path("data"));
    await super.close();
    removeKept();
  }

  async killServer(): Promise<void> {
    await this.#server?.end("SIGKILL");
  }

  /** In its own working directory; reconnects soon when it loses its connection. */
  startWorker(name: string, ...flags: string[]): Running {
    const cwd = this.path(`worker-${name}`);
    mkdirSync(cwd, { recursive: true });
    const args = ["-server", this.goSchedule, "-reconnect", "0.2", ...flags];
    return this.startProgram(args, { program: join(this.#programs, "worker"), cwd, env: ENV });
  }

  /** Returns when so many nodes are connected, with their names. */
  async nodesAre(count: number): Promise<readonly string[]> {
    let last: readonly string[] = [];
    const check = async (): Promise<boolean> => {
      const { nodes } = await this.client.listNodes({ state: "connected" });
      last = nodes.map(({ name }) => name).toSorted();
      return last.length === count;
    };
    const what = (): string => `${count} nodes to be connected, not ${last.join(" ")}`;
    await eventually(check, { what, timeoutMs: 60_000 });
    return last;
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

  trySchedule(tasks: readonly GoTask[]): Promise<Outcome> {
    const file = this.path(`tasks-${this.#files++}.yaml`);
    writeFileSync(file, JSON.stringify({ tasks }));
    return this.schedctl("tasks", "schedule", "-f", file);
  }

  /** Returns the rows of the printed table. */
  async schedule(tasks: readonly GoTask[]): Promise<readonly (readonly string[])[]> {
    return rowsOf(await this.trySchedule(tasks));
  }

  /** The rows of `workers ls` or `tasks ls`. */
  async list(target: "workers" | "tasks"): Promise<readonly (readonly string[])[]> {
    return rowsOf(await this.schedctl(target, "ls"));
  }

  async task(id: string): Promise<KnownTask> {
    const { state, attempt, node = "", exitCode, reason = "" } = await this.client.getTask({ id });
    return { id, state: stateName(state), attempt, node, exitCode, reason };
  }

  /** Waits until all submitted tasks have ended: so many succeeded, and no others. */
  async allSucceed(count: number): Promise<void> {
    let last = "";
    const check = async (): Promise<boolean> => {
      const { tasks = {} } = await this.client.getStats({});
      last = Object.entries(tasks)
        .flatMap(([state, amount]) => (Number(amount) > 0 ? [`${Number(amount)} ${state}`] : []))
        .join(", ");
      return last === `${count} succeeded`;
    };
    await eventually(check, { what: () => `${count} succeeded, not ${last}`, timeoutMs: 110_000 });
  }
}

/**
 * Removes the files that workers keep for runs of a server. They are on this machine, and outlive the directories of tests. Call it while
 * the server's data exists; call the result when the workers have ended.
 */
export function keptBy(data: string): () => void {
  const file = join(data, "go-schedule", "agent.key");
  if (!existsSync(file)) return () => undefined;
  const key = readFileSync(file, "utf8").trim();
  const installation = createHash("sha256").update(key).digest("hex").slice(0, 12);
  const user = `busbar-${userInfo().uid}`;
  return () => {
    for (const place of ["/var/tmp", "/tmp", "/dev/shm"]) {
      rmSync(join(place, user, installation), { recursive: true, force: true, maxRetries: 20 });
    }
  };
}

/** The cells between the lines of a table, without its header. Outputs must not break it. */
function rowsOf({ code, stdout, stderr }: Outcome): readonly (readonly string[])[] {
  if (code !== 0) throw new Error(`schedctl: ${code} ${stderr}`);
  const [, ...lines] = stdout.trimEnd().split("\n");
  return lines.map((line) => line.split("|").map((cell) => cell.trim()));
}

/** The first cells of rows. */
export const idsOf = (rows: readonly (readonly string[])[]): readonly string[] =>
  rows.map(([id = ""]) => id);

/** The number of occurrences of each value. */
export function counted(values: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
}
