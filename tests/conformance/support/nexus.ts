import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Outcome, type Running, Site } from "../../support/busbar.ts";
import { lastingAddress } from "../../support/lasting-address.ts";
import { builtPrograms } from "./go-programs.ts";

const run = promisify(execFile);
const sources = fileURLToPath(new URL("../nexus-go", import.meta.url));

/** A program on client-go that lists, watches and changes labels. */
export const informerProgram = async (): Promise<string> =>
  join(
    await builtPrograms({ name: "nexus-informer", sources, packages: ["informer"] }),
    "informer",
  );

const MINOR_MIN = 30;

/** kubectl: the machine's own if it is new enough, otherwise version 1.32 from Go's proxy, which takes some minutes of CPU once. */
export async function kubectlProgram(): Promise<string> {
  const own = await run("kubectl", ["version", "--client", "--output=json"]).catch(() => undefined);
  const version = own && (JSON.parse(own.stdout) as { clientVersion?: { minor?: string } });
  if (Number.parseInt(version?.clientVersion?.minor ?? "0", 10) >= MINOR_MIN) return "kubectl";
  return join(await builtPrograms({ name: "kubectl", sources, packages: ["kubectl"] }), "kubectl");
}

/** A Busbar that serves the tree of nexus. */
export class NexusSite extends Site {
  /** The address of the tree. */
  nexus = "";
  #kubectl = "";
  #server: Running | undefined;

  /** Starts it, or restarts it at the same addresses. */
  async startNexus(...flags: string[]): Promise<void> {
    const at = this.nexus || (await lastingAddress());
    this.#server = await this.startServer("--nexus", at, ...flags);
    this.nexus = await this.#server.prints(/Nexus:\s+http:\/\/(\S+:\d+)/);
  }

  async killServer(): Promise<void> {
    await this.#server?.end("SIGKILL");
  }

  async #arguments(args: readonly string[]): Promise<readonly string[]> {
    this.#kubectl ||= await kubectlProgram();
    const cache = this.path("kubectl-cache");
    mkdirSync(cache, { recursive: true });
    return [
      "--kubeconfig=/dev/null",
      `--cache-dir=${cache}`,
      "-s",
      `http://${this.nexus}`,
      ...args,
    ];
  }

  async tryKubectl(...args: string[]): Promise<Outcome> {
    const all = await this.#arguments(args);
    return new Promise((resolve) => {
      const env = { ...process.env, EDITOR: "sed -i s/silver/gold/", no_proxy: "*" };
      execFile(this.#kubectl, all, { env, maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
    });
  }

  /** Its output; it must succeed. */
  async kubectl(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.tryKubectl(...args);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${code} ${stdout} ${stderr}`);
    return stdout;
  }

  async startKubectl(...args: string[]): Promise<Running> {
    const all = await this.#arguments(args);
    return this.startProgram([...all], { program: this.#kubectl, env: { no_proxy: "*" } });
  }
}
