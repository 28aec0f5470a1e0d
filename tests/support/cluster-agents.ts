import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { Site } from "./busbar.ts";
import type { Running } from "./busbar.ts";

/** A site with agents of clusters, and its own programs on their search path. */
export class ClusterSite extends Site {
  readonly #env: NodeJS.ProcessEnv;

  /** `env` is for agents: with it they find their scheduler. */
  constructor(env: NodeJS.ProcessEnv = {}) {
    super();
    mkdirSync(this.path("bin"));
    this.#env = {
      ...env,
      PATH: `${this.path("bin")}:${env["PATH"] ?? process.env["PATH"] ?? ""}`,
    };
  }

  /** A program for jobs, written in sh. */
  program(name: string, text: string): void {
    writeFileSync(this.path(`bin/${name}`), `#!/bin/sh\n${text}\n`);
    chmodSync(this.path(`bin/${name}`), 0o755);
  }

  async speakFor(
    cluster: string,
    { name = `${cluster}-agent`, executor = "process" }: { name?: string; executor?: string } = {},
    ...flags: string[]
  ): Promise<Running> {
    const agent = this.startSpeaker(cluster, { name, executor }, ...flags);
    await this.nodeIs(name, "connected");
    return agent;
  }

  /** The same without waiting until it is connected. */
  startSpeaker(
    cluster: string,
    { name = `${cluster}-agent`, executor = "process" }: { name?: string; executor?: string } = {},
    ...flags: string[]
  ): Running {
    const data = this.path(`agent-${name}`);
    const own = ["--server", this.server, "--cluster", cluster, "--name", name, "--data", data];
    return this.start(["agent", ...own, "--executor", executor, ...flags], this.#env);
  }

  /** Submits and returns the job's id. */
  async submit(...args: string[]): Promise<string> {
    const { jobs } = await this.json<{ jobs: { id: string }[] }>("submit", ...args);
    return jobs[0]?.id ?? "none";
  }

  /** Submits a jobspec that one cluster runs as a whole. */
  async submitWhole(cluster: string, jobspec: string): Promise<string> {
    const spec = { jobspec, placement: { cluster } };
    const { jobs } = await this.client.submitJobs({ jobs: [{ spec }] });
    return jobs[0]?.id ?? "none";
  }
}

/** Build with spack, then run: the second task depends on the first, and requests the same place. */
export const SPACK_JOBSPEC = `
version: 1
resources:
  spack-resources:
    count: 1
    type: node
    with:
    - count: 10
      type: core
tasks:
- command: [spack, install, ior]
  name: build
  resources: spack-resources
- command:
  - bash
  - -c
  - |
    spack load ior
    ior -b 10g -O summaryFormat=json
  depends_on: [build]
  name: ior
  resources: spack-resources
`;
