import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import type {
  AgentFlags,
  DoorFlags,
  EdgeFlags,
  GoScheduleFlags,
  Listening,
  LogLevel,
  RestoreFlags,
  RikFlags,
  ServerFlags,
  Services,
  UpFlags,
} from "./cli/context.ts";
import type { Discovery } from "./agent/discovery/discovery.ts";
import type { NodeFacts } from "./core/model/node/node-facts.ts";
import type { Clock } from "./ports/clock.ts";
import type { Logger } from "./ports/logger.ts";
import { useCompileCache } from "./system/start/compile-cache.ts";
import { stopOnSignals } from "./system/start/stop-signals.ts";

const only = process.argv.slice(2).join(" ");
if (only === "version") (await import("./system/print-version.ts")).printVersion();
// Everything is loaded when it is needed, and after the cache is on: most commands are short.
// Below the call of runCli only functions may be declared: a constant would not exist yet.
useCompileCache();
// Set by ./busbar. The C library has read it; jobs, which inherit the rest, must not see it.
if (process.env["BUSBAR_SET_MALLOC"] !== undefined) {
  delete process.env["MALLOC_ARENA_MAX"];
  delete process.env["MALLOC_MMAP_THRESHOLD_"];
  delete process.env["BUSBAR_SET_MALLOC"];
}

const services: Services = {
  up: runUp,
  server: runServerAlone,
  agent: runAgentHere,
  extract: extractFacts,
  recover: recoverHere,
  restore: restoreHere,
  saveBackup: saveBackupHere,
  units: async () => (await import("./system/systemd-units.ts")).systemdUnits,
};
const { currentDirectory, pathOf } = await import("./system/current-directory.ts");
const { runCli } = await import("./cli/program.ts");
const { createProcessContext } = await import("./system/process-context.ts");
const exitCode = await runCli(process.argv.slice(2), createProcessContext(services));
// Exiting at once would cut off messages on their way to the server: a watch that was ended here would
// stay open there. The process does not wait for anything that holds it for longer than that.
process.exitCode = exitCode;
setTimeout(() => process.exit(exitCode), 1_000).unref();

type Announce = (listening: Listening) => Promise<void>;

/** The server in this process and the agent in one of its own, so that they do not slow each other. */
async function runUp(flags: UpFlags, announce: Announce): Promise<void> {
  const { dialAddress, formatAddress, parseAddress } = await import("./lib/address.ts");
  const { createSystemClock } = await import("./system/clock.ts");
  const { agentArgs } = await import("./cli/service/agent-args.ts");
  const { limits } = await import("./limits.ts");
  const { supervise } = await import("./system/supervise.ts");
  const { until } = await import("./system/until.ts");
  await checkEnforce(flags);
  const level = flags.logLevel ?? (isatty(process.stderr.fd) ? "warn" : "info");
  const logger = await openLogger("up", level);
  const stopped = stopOnSignals();
  const ended = new AbortController();
  const serverStop = new AbortController();
  const server = await startServer({ ...flags, logLevel: level }, serverStop.signal);
  const grpc = formatAddress(dialAddress(parseAddress(server.grpcAddress, "grpc")));
  const data = `${pathOf(flags.data)}/agent`;
  const args = agentArgs(flags, { server: grpc, data, logLevel: level });
  const start = () => startAgent(args);
  const agentSignal = AbortSignal.any([stopped, ended.signal]);
  const clock = createSystemClock();
  const agent = flags.agent
    ? supervise({ name: "agent", start, clock, logger }, agentSignal)
    : aborted(agentSignal);
  try {
    const node = flags.agent ? { node: flags.name } : {};
    const { httpAddress: http } = server;
    const over = Promise.race([agent, server.closed]);
    const joins =
      flags.agent && until(() => server.isConnected(flags.name), limits.upConnectMs, clock);
    await Promise.race([over, joins]); // so that the first job finds a node
    await announce({ http, grpc, data: pathOf(flags.data), ...node, ...(await doorsOf(server)) });
    await over;
  } finally {
    // The agent first, so that its last reports still find a server.
    ended.abort();
    await agent.catch(() => undefined);
    serverStop.abort();
    await server.closed;
  }
}

/** Before the server listens: the agent would be started again and again. */
async function checkEnforce({ agent, enforce, cgroup }: UpFlags): Promise<void> {
  if (!agent || enforce === "available" || enforce.length === 0) return;
  const { enforcementHere } = await import("./agent/executors/process/cgroups/enforcement-here.ts");
  enforcementHere({ enforce, cgroup, tag: `up-${process.pid}`, isTrial: true });
}

async function runServerAlone(flags: ServerFlags, announce: Announce): Promise<void> {
  const server = await startServer(flags, stopOnSignals());
  const { httpAddress: http, grpcAddress: grpc } = server;
  await announce({ http, grpc, data: pathOf(flags.data), ...(await doorsOf(server)) });
  await server.closed;
}

async function startServer(flags: ServerFlags, signal: AbortSignal) {
  const { data, http, grpc, hostName: hostNames, logLevel } = flags;
  const policies = await checkPolicies(flags);
  const adapters = await openAdapters("server", logLevel);
  const settings = {
    nodeLostAfterMs: flags.nodeLostAfter,
    finishedTasksMax: flags.keepEnded,
    finishedAgeMsMax: flags.keepEndedFor,
    quarantine: {
      jobs: flags.quarantineAfter,
      quickMs: flags.quarantineQuick,
      firstMs: flags.quarantineFor,
    },
  };
  const rainbowSecrets = takeRainbowSecrets(flags);
  const rainbow = flags.rainbow && (await readDoor(flags.rainbow, "--rainbow"));
  const goSchedule = flags.goSchedule && (await readGoSchedule(flags.goSchedule));
  const links = { linkTimes: flags.linkTimes, keepaliveMs: flags.keepalive };
  const parts = {
    settings,
    ...links,
    policies,
    rainbowSecrets,
    rainbowVisibilityMs: flags.rainbowVisibility,
    rainbow,
    goSchedule,
    nexus: flags.nexus,
    rik: flags.rik && (await readRik(flags.rik, adapters.logger)),
    ...adapters,
  };
  if (flags.insecureListen === true) {
    adapters.logger.warn(
      { http, grpc, flag: "--insecure-listen" },
      "every client that can reach this server can run any command on its nodes: there are no users and no encryption",
    );
  }
  // After all flags were checked, and before the rest is loaded: the thread of the store starts and opens the data meanwhile.
  const { opening } = await openStore(data, adapters.logger);
  const { runServer } = await import("./run-server.ts");
  return runServer({ data: pathOf(data), opening, http, grpc, hostNames, ...parts }, signal);
}

async function openStore(data: string, logger: Logger) {
  const { setPoolThreads } = await import("./system/start/pool-threads.ts");
  const { createSqliteStore } = await import("./store/sqlite/sqlite-store.ts");
  setPoolThreads();
  const opening = createSqliteStore({ directory: pathOf(data), logger });
  opening.catch(() => undefined); // runServer waits for it, and gets the error
  return { opening };
}

async function doorsOf({
  rainbowSecretFile: file,
  rainbowAddress: rainbow,
  goScheduleAddress: goSchedule,
  nexusAddress: nexus,
  nexusRestAddress: nexusRest,
  rik,
}: {
  readonly rainbowSecretFile: string | undefined;
  readonly rainbowAddress: string | undefined;
  readonly goScheduleAddress: string | undefined;
  readonly nexusAddress: string | undefined;
  readonly nexusRestAddress: string | undefined;
  readonly rik: Listening["rik"] | undefined;
}) {
  const { ownCommand } = await import("./system/own-command.ts");
  const command = ownCommand(process.env, currentDirectory());
  return {
    command,
    ...(rainbow === undefined ? {} : { rainbow }),
    ...(goSchedule === undefined ? {} : { goSchedule }),
    ...(nexus === undefined ? {} : { nexus }),
    ...(nexusRest === undefined ? {} : { nexusRest }),
    ...(rik === undefined ? {} : { rik }),
    ...(file === undefined ? {} : { rainbowSecretFile: file }),
  };
}

async function readGoSchedule(flags: GoScheduleFlags) {
  const { isInsecure, pingMs, silenceMs, timeLimitMs } = flags;
  const door = await readDoor(flags, "--go-schedule");
  return { ...door, isInsecure, settings: { pingMs, silenceMs, timeLimitMs } };
}

async function readRik({ secretFile, ...ports }: RikFlags, logger: Logger) {
  const { readSecretFile } = await import("./server/credentials/secret-file.ts");
  const flag = "--rik-secret-file";
  return { ...ports, secret: secretFile && readSecretFile(secretFile, flag, logger) };
}

async function readDoor({ address, tls, allowsPlaintext }: DoorFlags, flag: string) {
  const { readFile } = await import("node:fs/promises");
  const { invalid } = await import("./lib/errors.ts");
  if (tls === undefined) return { address };
  const read = (path: string, what: string): Promise<Buffer> =>
    readFile(path).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : "unreadable";
      throw invalid(`${flag}-${what}`, `cannot be read: ${why}`);
    });
  const cert = await read(tls.cert, "cert");
  const key = await read(tls.key, "key");
  const ca = tls.ca === undefined ? undefined : await read(tls.ca, "ca");
  return { address, tls: { cert, key, ca, allowsPlaintext } };
}

/** Takes the text out of the environment: agents inherit it, and jobs from them. */
function takeRainbowSecrets(flags: ServerFlags) {
  const { data, rainbow, rainbowSecretFile, rainbowGlobalTokenFile } = flags;
  const secret = process.env["BUSBAR_RAINBOW_SECRET"];
  delete process.env["BUSBAR_RAINBOW_SECRET"];
  const given = { secretFile: rainbowSecretFile, globalTokenFile: rainbowGlobalTokenFile, secret };
  if ([...Object.values(given), rainbow].every((each) => each === undefined)) return undefined;
  return { data: pathOf(data), ...given };
}

/** What makes no sense is refused before anything is opened, by the name of its flag. */
async function checkPolicies({ policy, policySeed: seed, select }: ServerFlags) {
  const { createPolicy } = await import("./core/scheduler/policy.ts");
  const { AppError, invalid } = await import("./lib/errors.ts");
  const policies = { policy, seed, ...(select === undefined ? {} : { select }) };
  try {
    createPolicy(policies, () => 0);
  } catch (error) {
    if (!(error instanceof AppError) || error.field === undefined) throw error;
    const { field, problem } = error;
    if (!field.startsWith("options")) throw error.at("--select");
    const option = field.replace(/^options\.?/, "");
    throw invalid("--select-options", option === "" ? problem : `${option}: ${problem}`);
  }
  return policies;
}

async function runAgentHere(flags: AgentFlags): Promise<void> {
  if (flags.simulates !== undefined) return runEdgesHere(flags, flags.simulates);
  const adapters = await openAdapters("agent", flags.logLevel);
  // Files are read while the rest is loaded.
  const looking = lookAtMachine(flags, adapters.clock);
  const { Discovery } = await import("./agent/discovery/discovery.ts");
  const { createKeptSoftware } = await import("./agent/discovery/kept-software.ts");
  const { offeredAmounts } = await import("./agent/facts.ts");
  const { runAgent } = await import("./agent/run-agent.ts");
  const { toResources } = await import("./core/model/resources.ts");
  const { version } = await import("./cli/service/version.ts");
  const { limits } = await import("./limits.ts");
  const { detectResources } = await import("./system/machine.ts");
  const { machine, hardware } = await looking;
  const amounts = offeredAmounts(detectResources(), hardware, flags.resources);
  const capacity = toResources(amounts, "capacity", limits.resourceNamesMax);
  const { servers, name, cluster, labels, launcher, enforce, cgroup, taskEnv } = flags;
  const { loss, linkTimes, bandwidthBytes, clusterAgent } = flags;
  const signals = [stopOnSignals(), ...(flags.exitWithParent ? [parentGone()] : [])];
  const directory = pathOf(flags.data);
  const kept = createKeptSoftware(directory);
  const discovery =
    machine === undefined
      ? undefined
      : new Discovery({ machine, hardware, capacity, kept, ...adapters });
  if (discovery !== undefined) refreshOnHangup(discovery);
  const signal = AbortSignal.any(signals);
  const { keepOutput: keptBounds, imageLimit: imageBytesMax } = flags;
  const how = { launcher, enforce, cgroup, taskEnv, keptBounds, imageBytesMax };
  const link = { loss, linkTimes, bandwidthBytes };
  const parts = { capacity, labels, ...link, ...how, directory, version, discovery, ...adapters };
  if (clusterAgent === undefined) {
    return runAgent({ servers, name, cluster, powerSchedule: flags.power, ...parts }, signal);
  }
  const { runClusterAgent } = await import("./agent/cluster/run-cluster-agent.ts");
  await runClusterAgent({ servers, name, cluster, ...parts, ...clusterAgent }, signal);
}

async function runEdgesHere(flags: AgentFlags, simulates: EdgeFlags): Promise<void> {
  const { clock, random, logger } = await openAdapters("agent", flags.logLevel);
  const { runEdges } = await import("./agent/executors/edge/run-edges.ts");
  const { version } = await import("./cli/service/version.ts");
  const { labels, loss, linkTimes, servers, data } = flags;
  const signals = [stopOnSignals(), ...(flags.exitWithParent ? [parentGone()] : [])];
  const adapters = { clock, random, logger, directory: pathOf(data), version };
  const options = { ...simulates, ...adapters, labels, loss, linkTimes, server: servers[0] ?? "" };
  await runEdges(options, AbortSignal.any(signals));
}

/** The facts that are found before the agent's Hello; none with discovery off. */
async function lookAtMachine(flags: AgentFlags, clock: Clock) {
  const { findHardwareInTime } = await import("./agent/discovery/discovery.ts");
  const { NO_HARDWARE } = await import("./agent/discovery/find-facts.ts");
  const { createSystemMachine } = await import("./agent/discovery/system-machine.ts");
  if (!flags.discovery) return { machine: undefined, hardware: NO_HARDWARE };
  const machine = createSystemMachine(process.env);
  return { machine, hardware: await findHardwareInTime(machine, clock) };
}

async function recoverHere(flags: { readonly data: string; readonly acceptsLoss: boolean }) {
  const { recoverData } = await import("./store/sqlite/recovery/recover.ts");
  return recoverData({ directory: pathOf(flags.data), acceptsLoss: flags.acceptsLoss });
}

async function saveBackupHere(file: string, bytes: AsyncIterable<Uint8Array>) {
  const { saveBackup } = await import("./store/sqlite/recovery/save-backup.ts");
  return saveBackup(pathOf(file), bytes);
}

async function restoreHere({ file, data, replaces }: RestoreFlags) {
  const { restoreBackup } = await import("./store/sqlite/recovery/restore.ts");
  return restoreBackup({
    file: pathOf(file),
    directory: pathOf(data),
    replaces: replaces === undefined ? undefined : pathOf(replaces),
  });
}

async function extractFacts(): Promise<NodeFacts> {
  const { findFacts } = await import("./agent/discovery/discovery.ts");
  const { createSystemMachine } = await import("./agent/discovery/system-machine.ts");
  const { offeredAmounts } = await import("./agent/facts.ts");
  const { toResources } = await import("./core/model/resources.ts");
  const { limits } = await import("./limits.ts");
  const { detectResources } = await import("./system/machine.ts");
  const { addSubsystems } = await import("./agent/discovery/with-subsystems.ts");
  const { containerFactsHere } = await import("./agent/executors/oci/facts-here.ts");
  const { describeEnforcement } = await import("./agent/executors/process/cgroups/enforcement.ts");
  const { enforcementHere } = await import("./agent/executors/process/cgroups/enforcement-here.ts");
  const facts = await findFacts(createSystemMachine(process.env), (hardware) => {
    const amounts = offeredAmounts(detectResources(), hardware, {});
    return toResources(amounts, "capacity", limits.resourceNamesMax);
  });
  const tag = `extract-${process.pid}`;
  const enforcement = enforcementHere({ enforce: "available", tag, isTrial: true });
  return addSubsystems(facts, {
    limits: describeEnforcement(enforcement),
    containers: await containerFactsHere(process.env),
  });
}

/** On a terminal SIGHUP means that it was closed, and ends the agent as ever. */
function refreshOnHangup(discovery: Discovery): void {
  if (!isatty(process.stdin.fd)) process.on("SIGHUP", () => discovery.refresh());
}

/** The agent's standard input is a pipe from here: when this process dies, it ends and so do they. */
function startAgent(args: readonly string[]) {
  const { spawn } = process.getBuiltinModule("node:child_process");
  return spawn(
    process.execPath,
    [...process.execArgv, fileURLToPath(import.meta.url), ...args],
    // A group of its own: Ctrl-C is for this process, which then stops the agent in order.
    { stdio: ["pipe", "ignore", "inherit"], detached: true },
  );
}

async function openAdapters(part: string, level: LogLevel | undefined) {
  const { createSystemClock } = await import("./system/clock.ts");
  const { createSystemRandom } = await import("./system/random.ts");
  const logger = await openLogger(part, level ?? "info");
  return { clock: createSystemClock(), random: createSystemRandom(), logger };
}

async function openLogger(part: string, level: LogLevel): Promise<Logger> {
  const { createLogger } = await import("./system/logger.ts");
  return createLogger({ level, pretty: isatty(process.stderr.fd), part });
}

function parentGone(): AbortSignal {
  const gone = new AbortController();
  for (const event of ["end", "close", "error"]) process.stdin.once(event, () => gone.abort());
  process.stdin.resume();
  return gone.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
