import type { Recovery, Restored } from "../core/model/recovery.ts";
import type { NodeFacts } from "../core/model/node/node-facts.ts";
import type { ScheduleSpec } from "../core/model/node/schedule-spec.ts";

/** The destination of text. `write` resolves once the reader accepted it, and fails when the reader has closed it. */
export interface Sink {
  readonly isTerminal: boolean;
  readonly columns: number | undefined;
  /** Lines of a terminal. */
  readonly rows: number | undefined;
  write(data: string | Uint8Array): Promise<void>;
}

/** Which of the nodes with free capacity gets a task. */
export const nodePolicies = ["spread", "binpack", "round-robin", "random"] as const;

/** The flags of `busbar server`, and those `up` shares with it. */
export interface ServerFlags {
  readonly data: string;
  readonly http: string;
  readonly grpc: string;
  /** Whether `http` and `grpc` may be reachable from other machines. */
  readonly insecureListen?: boolean;
  /** Additional host names for REST. */
  readonly hostName?: readonly string[];
  readonly nodeLostAfter: number;
  readonly keepEnded: number;
  readonly keepEndedFor: number;
  readonly quarantineAfter: number;
  readonly quarantineQuick: number;
  readonly quarantineFor: number;
  readonly policy: (typeof nodePolicies)[number];
  /** The seed of the policy "random"; absent: the server's own. */
  readonly policySeed?: number;
  /** Absent: least-loaded. */
  readonly select?: {
    readonly strategy: string;
    readonly options: Readonly<Record<string, unknown>>;
  };
  /** Absent: rainbow's clients have no port. */
  readonly rainbow?: DoorFlags;
  /** Absent: go-schedule's workers and clients are not served. */
  readonly goSchedule?: GoScheduleFlags;
  /** Absent: kubectl, and edges and clients of nexus, are not served. */
  readonly nexus?: NexusFlags;
  /** Absent: workers, controllers and REST users of rik are not served. */
  readonly rik?: RikFlags;
  /** Files, because other users of the machine see the arguments of a process. */
  readonly rainbowSecretFile?: string;
  /** For links to agents that request no times of their own. */
  readonly linkTimes?: LinkTimeFlags;
  /** The time without a byte on a connection until the server pings it. */
  readonly keepalive?: number;
  readonly rainbowGlobalTokenFile?: string;
  /** Absent: every receiver sees all offered tasks. */
  readonly rainbowVisibility?: number;
  readonly logLevel?: LogLevel;
}

/** The ports for rik's programs, and the credentials that they need. */
export interface RikFlags {
  readonly workers: string;
  readonly controllers: string;
  /** Absent: not served. */
  readonly rest?: string;
  readonly secretFile?: string;
  readonly isInsecure: boolean;
  readonly replays: boolean;
}

/** The addresses of the nexus tree. */
export interface NexusFlags {
  readonly address: string;
  /** The address of its REST gateway. */
  readonly rest: string;
  /** The origins of pages that may call the gateway. */
  readonly origins: readonly string[];
  /** Describes the OpenID provider of the tokens of the gateway's callers. */
  readonly oidcFile?: string;
  readonly isInsecure: boolean;
  /** Whether an external scheduler assigns shares of jobs with energy. */
  readonly isSchedulerExternal: boolean;
}

/** The address of a door with its own port, and its files. */
export interface DoorFlags {
  readonly address: string;
  readonly tls?: TlsPaths;
  /** Whether callers may connect without encryption. */
  readonly allowsPlaintext: boolean;
}

export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  /** Callers must have a certificate of this authority. */
  readonly ca?: string;
}

export interface GoScheduleFlags extends DoorFlags {
  /** Whether its wire, which has no credentials, may be reachable from other machines. */
  readonly isInsecure: boolean;
  readonly pingMs: number;
  readonly silenceMs: number;
  /** The time limit of tasks that schedctl submits; absent: none. */
  readonly timeLimitMs?: number;
}

export interface UpFlags extends ServerFlags {
  readonly name: string;
  readonly agent: boolean;
  readonly launcher: LauncherChoice;
  readonly enforce: EnforceFlag;
  /** Absent: the agent's own control group. */
  readonly cgroup?: string;
  /** Variables for every task. */
  readonly taskEnv: Readonly<Record<string, string>>;
  readonly keepOutput?: KeepOutputFlag;
  /** Bytes that one image may use on the disk. */
  readonly imageLimit?: number;
}

/** Limits of the outputs that an agent retains for ended tasks. */
export interface KeepOutputFlag {
  readonly runsMax: number;
  readonly bytesMax: number;
  readonly ageMsMax: number;
}

export interface AgentFlags {
  readonly servers: readonly string[];
  readonly name: string;
  readonly cluster: string;
  readonly data: string;
  /** Amounts in units for people: cpus, bytes, devices; the agent detects absent ones. */
  readonly resources: Readonly<Record<string, number>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether the agent discovers the machine; if not, only cpus and memory are known. */
  readonly discovery: boolean;
  readonly launcher: LauncherChoice;
  readonly enforce: EnforceFlag;
  /** Absent: the agent's own control group. */
  readonly cgroup?: string;
  /** Variables for every task. */
  readonly taskEnv: Readonly<Record<string, string>>;
  readonly keepOutput?: KeepOutputFlag;
  /** Bytes that one image may use on the disk. */
  readonly imageLimit?: number;
  /** Bytes per second for outputs. */
  readonly bandwidthBytes?: number;
  readonly exitWithParent: boolean;
  readonly logLevel?: LogLevel;
  /** Times of the link to the server. The server fills in absent ones. */
  readonly linkTimes?: LinkTimeFlags;
  /** When the server counts its node as lost, and what happens to its tasks then. The server fills in absent fields. */
  readonly loss?: LossFlags;
  /** Makes it the agent of a whole pull cluster; absent: of this machine, a node of its cluster. */
  readonly clusterAgent?: ClusterFlags;
  /** Its node's power for shares of jobs with energy; absent: it accepts none. */
  readonly power?: ScheduleSpec;
  /** It runs many simulated edges; absent: an agent. */
  readonly simulates?: EdgeFlags;
}

export interface EdgeFlags {
  readonly edges: number;
  readonly site: string;
  readonly schedule: ScheduleSpec;
  readonly speedup: number;
}

export interface LinkTimeFlags {
  readonly heartbeatMs?: number;
  readonly silenceMs?: number;
}

export interface LossFlags {
  readonly lostAfterMs?: number;
  readonly onLost?: OnLost;
}

export interface ClusterFlags {
  readonly executor: ExecutorKind;
  /** The name of this machine, where the cluster is this machine. */
  readonly machine: string;
  readonly take: { readonly kind: "now" } | { readonly kind: "queue"; readonly tasksMax: number };
  readonly refreshMs: number;
  readonly costPerNodeHour?: number;
  /** 0: as long as the server waits for nodes. */
  readonly leaseMs: number;
  readonly onLost: OnLost;
  /** A document to register instead of the discovered graph. */
  readonly graph?: string;
  readonly updatesGraph: boolean;
  readonly partition?: string;
  readonly account?: string;
  readonly schedulerArgs: readonly string[];
  /** The address of the Busbar below. */
  readonly to?: string;
}

/** The executors of pull clusters. */
export const executorKinds = ["process", "slurm", "flux", "busbar"] as const;
export type ExecutorKind = (typeof executorKinds)[number];

/** What happens to tasks whose agent does not come back. */
export const lostPolicies = ["requeue", "keep", "fail"] as const;
export type OnLost = (typeof lostPolicies)[number];

/** The limits that an agent enforces: all that it can, or exactly these. */
export const enforceable = ["memory", "cpu", "process-memory"] as const;
export type EnforceFlag = "available" | readonly (typeof enforceable)[number][];

/** How an agent starts processes. */
export const launcherKinds = ["native", "perl", "spawn"] as const;
export type LauncherChoice = (typeof launcherKinds)[number];

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** The output of `up` and `server` once they listen. */
export interface Listening {
  /** How the user calls this command. */
  readonly command: string;
  readonly http: string;
  readonly grpc: string;
  /** The address for rainbow's clients. */
  readonly rainbow?: string;
  /** The address for go-schedule's workers and clients. */
  readonly goSchedule?: string;
  /** The address for kubectl, and edges and clients of nexus. */
  readonly nexus?: string;
  /** The address of its REST gateway. */
  readonly nexusRest?: string;
  /** The addresses for rik's workers, controllers and REST users. */
  readonly rik?: {
    readonly workers: string;
    readonly controllers: string;
    readonly rest: string | undefined;
  };
  readonly data: string;
  readonly node?: string;
  /** The file with the register secret for clients of rainbow. */
  readonly rainbowSecretFile?: string;
  /** Anyone who can reach it may run commands. */
  readonly isInsecure?: true;
}

/** A backup that was written and read back. */
export interface SavedBackup {
  readonly file: string;
  readonly revision: number;
  readonly rows: number;
  readonly bytes: number;
}

export interface RestoreFlags {
  readonly file: string;
  readonly data: string;
  readonly replaces: string | undefined;
}

/**
 * The long-running commands. They need parts of the product that the command line must not import, so the caller passes them in. Each
 * resolves when it has stopped after a stop signal. It calls `announce` once, when it is ready.
 */
export interface Services {
  up(flags: UpFlags, announce: (listening: Listening) => Promise<void>): Promise<void>;
  server(flags: ServerFlags, announce: (listening: Listening) => Promise<void>): Promise<void>;
  agent(flags: AgentFlags): Promise<void>;
  /** The facts that an agent of this machine would report. */
  extract(): Promise<NodeFacts>;
  recover(flags: { readonly data: string; readonly acceptsLoss: boolean }): Promise<Recovery>;
  restore(flags: RestoreFlags): Promise<Restored>;
  /** Writes the bytes into a new file, and reads all of it back before it gets its name. */
  saveBackup(file: string, bytes: AsyncIterable<Uint8Array>): Promise<SavedBackup>;
  units(): Promise<Units>;
}

/** Units of the machine's service manager. Both return the path of the unit's file. */
export interface Units {
  /** The absolute path of the command that units run. */
  readonly program: string;
  /** Whether this machine has a user of that name, also from a directory service. */
  hasUser(name: string): Promise<boolean>;
  /** Writes the unit and, if requested, enables and starts it. */
  install(folder: string, name: string, text: string, starts: boolean): Promise<string>;
  uninstall(folder: string, name: string): Promise<string>;
}

/** Bytes that are read on demand. */
export interface InputSource {
  /** Undefined: the end. Throws AppError when it cannot be read. */
  read(): Promise<Uint8Array | undefined>;
  /** A read under way fails then. */
  close(): void;
}

/** The terminal that the process was started from. */
export interface Terminal {
  size(): { readonly rows: number; readonly columns: number };
  /** Whether every key goes to the reader, Ctrl-C too. Ends with the process at the latest. */
  setRaw(isRaw: boolean): void;
}

/** Everything that a command may use of its process. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Distinguishes `cwd` from directories of that path on other machines; undefined: it is removed. */
  directoryId(): string | undefined;
  /** Whether there is a file at this path. */
  hasFile(path: string): boolean;
  readonly hostname: string;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly services: Services;
  nowMs(): number;
  /** Resolves after the time, or at once when the signal fires; it never fails. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  /** The kind of standard input: a terminal, a pipe or a file, anything else that may not end, or nothing. */
  readonly stdin: "terminal" | "pipe" | "other";
  /** Undefined: standard input or output is not a terminal. */
  readonly terminal: Terminal | undefined;
  /** A file, or standard input for "-". */
  openInput(path: string): InputSource;
  /** The content of a file, or of standard input for "-"; more than `bytesMax` is rejected, with the advice. */
  readInput(path: string, bytesMax: number, advice?: string): Promise<Buffer>;
  /** Writes texts by file name into a folder, which it creates; writes none when one of them exists. Returns the paths. */
  writeNewFiles(
    folder: string,
    files: Readonly<Record<string, string>>,
  ): Promise<readonly string[]>;
  /** Replaces the content of a file, or creates the file. */
  replaceFile(path: string, text: string): Promise<void>;
  /** Calls back on every Ctrl-C, which then no longer ends the process. Returns a function that undoes this. */
  onInterrupt(handler: () => void): () => void;
  /**
   * Calls the handler with the right exit code when the process receives a stop signal (Ctrl-C, SIGTERM, a
   * closed terminal); the process then ends by itself. Returns a function that undoes this.
   */
  onStop(handler: (exitCode: number) => void): () => void;
  /** Calls back when the size of the terminal changes. Returns a function that undoes this. */
  onResize(handler: () => void): () => void;
  /** Calls back with each pressed key, without waiting for a line. Returns a function that undoes this. */
  onKey(handler: (key: string) => void): () => void;
  /** Ends the process now, whatever is under way. */
  exitNow(code: number): never;
}
