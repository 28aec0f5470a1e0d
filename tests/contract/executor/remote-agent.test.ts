import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { createWorkers } from "../../../src/go-schedule-workers.ts";
import { describeChain } from "../../../src/lib/errors.ts";
import { createSystemRandom } from "../../../src/system/random.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { aPlane, type TestPlane } from "../../../src/testing/plane.ts";
import { silentLogger } from "../../../src/testing/silent-logger.ts";
import { realClock } from "./process-bed.ts";
import { type Faults, LocalShell } from "./remote-bed.ts";

/** A remote machine whose probe the test defines. */
class ToldShell extends LocalShell {
  readonly #tells: Readonly<Record<string, string>>;

  constructor(tells: Readonly<Record<string, string>> = {}, faults: Faults = {}) {
    super();
    this.#tells = {
      host: "blue",
      parent: `${shells++} (worker) S 1 1 1 0${" 0".repeat(16)} 5`,
      ...tells,
    };
    this.faults = faults;
  }

  override async exec(...[argv, options]: Parameters<LocalShell["exec"]>) {
    const told = await super.exec(argv, options);
    const isProbe = argv[0] === "/bin/sh" && told.stdout.startsWith("host ");
    if (!isProbe) return told;
    const [, real] = /^directory (.*)$/m.exec(told.stdout) ?? [];
    if (real !== undefined) rmSync(real, { recursive: true, force: true });
    const own = Object.entries(this.#tells).map(([word, value]) => `${word} ${value}\n`);
    const directory = `directory ${disk}\n`;
    return { ...told, stdout: `${directory}${own.join("")}${told.stdout}` };
  }
}

let shells = 1;
let disk: string;
let data: string;
let plane: TestPlane;
let attach: (shell: LocalShell) => void;
const attached: LocalShell[] = [];
beforeEach(async () => {
  disk = mkdtempSync(join(tmpdir(), "busbar-far-"));
  data = mkdtempSync(join(tmpdir(), "busbar-data-"));
  ({ plane } = await aPlane());
  attach = workersOf(plane);
});
afterEach(async () => {
  for (const shell of attached.splice(0)) shell.close();
  await plane.close();
  // Shells that were just closed may still write.
  const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 };
  rmSync(disk, options);
  rmSync(data, options);
});

function workersOf({ sessions }: TestPlane): (shell: LocalShell) => void {
  const adapters = { clock: realClock, random: createSystemRandom(), logger: silentLogger };
  const create = createWorkers({ data, sessions, ...adapters });
  return (shell) => {
    attached.push(shell);
    create(shell);
  };
}

async function nodes(): Promise<Readonly<Record<string, string>>> {
  const { nodes } = await plane.operations.listNodes({}, {});
  return Object.fromEntries(nodes.map(({ name, state }) => [name, state]));
}

const become = (wanted: Readonly<Record<string, string>>): Promise<unknown> =>
  eventually(async () => JSON.stringify(await nodes()) === JSON.stringify(wanted), {
    what: `the nodes to be ${JSON.stringify(wanted)}`,
  });

test("a remote machine is a node with its address, its amounts and its labels", async () => {
  attach(
    new ToldShell({
      cpus: "4",
      "cpu-max": "max 100000",
      "memory-kib": "2048",
      "memory-max": "max",
    }),
  );
  await become({ "gs-blue": "connected" });
  expect(await plane.operations.getNode("gs-blue")).toMatchObject({
    cluster: "default",
    address: "127.0.0.1",
    capacity: { cpu: 4, memory: 2_048 * 1_024 },
    labels: { agent: "go-schedule" },
    agentVersion: expect.stringMatching(/^go-schedule worker, Linux /) as unknown,
  });
});

test.each<[also: string, faults: Faults]>([
  ["", {}],
  [", also without a search path", { hasNoSearchPath: true }],
])("it runs the tasks that are placed on it, and no other node does%s", async (_, faults) => {
  const shell = new ToldShell({}, faults);
  if (faults.hasNoSearchPath === true) shell.env = { ...shell.env, PATH: undefined };
  attach(shell);
  await become({ "gs-blue": "connected" });
  const spec = { command: ["sh", "-c", 'echo "$BUSBAR_NODE"'], placement: { node: "gs-blue" } };
  const { jobs } = await plane.operations.submitJobs([{ spec }]);
  const id = jobs[0]?.id ?? "";
  await eventually(async () => (await plane.operations.getJob(id)).state === "succeeded", {
    what: "the job to succeed",
  });
  const parts: Uint8Array[] = [];
  const read = plane.operations.readOutput(
    { taskId: id, stream: "stdout" },
    new AbortController().signal,
  );
  for await (const { data: part } of read) parts.push(part);
  expect(Buffer.concat(parts).toString()).toBe("gs-blue\n");
  expect(readdirSync(join(disk, "gs-blue"))).toContain(`${id}.0.1.state`);
});

test("it is the same node when its program reconnects, and after a restart of the server", async () => {
  const first = new ToldShell();
  attach(first);
  await become({ "gs-blue": "connected" });
  first.close();
  await become({ "gs-blue": "disconnected" });
  attach(new ToldShell());
  await become({ "gs-blue": "connected" });
  attach = workersOf(plane); // which remembers only its data directory
  attached.at(-1)?.close();
  await become({ "gs-blue": "disconnected" });
  attach(new ToldShell());
  await become({ "gs-blue": "connected" });
});

test("a second program on the machine is a second node; a second machine of its name too", async () => {
  attach(new ToldShell());
  await become({ "gs-blue": "connected" });
  attach(new ToldShell());
  await become({ "gs-blue": "connected", "gs-blue-2": "connected" });
  attached[0]?.close();
  attached[1]?.close();
  await become({ "gs-blue": "disconnected", "gs-blue-2": "disconnected" });
  attach(new ToldShell({ machine: "another" }));
  await eventually(
    async () => Object.keys(await nodes()).some((name) => /^gs-blue-[0-9a-f]{6}$/.test(name)),
    { what: "a node with a part of its identity" },
  );
  expect(await nodes()).toMatchObject({ "gs-blue": "disconnected", "gs-blue-2": "disconnected" });
});

test("a machine that cannot run tasks receives the reason", async () => {
  const shell = new ToldShell({ missing: "setsid" });
  const told: unknown[] = [];
  const close = shell.close.bind(shell);
  shell.close = (...reasons: unknown[]) => {
    told.push(...reasons);
    close();
  };
  attach(shell);
  await eventually(() => shell.closed.aborted, { what: "it to be refused" });
  expect(told.map(describeChain)).toEqual([expect.stringMatching(/lacks programs .*: setsid$/)]);
  expect(await nodes()).toEqual({});
});
