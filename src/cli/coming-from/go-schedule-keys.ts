import { isLoopback, parseAddress } from "../../lib/address.ts";
import { AppError } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import type { LogLevel } from "../context.ts";
import type { ImportStep } from "./import-plan.ts";
import type { Value } from "../yaml/yaml-value.ts";

/** The meaning of a value here. */
export type Meaning = Omit<ImportStep, "key"> & {
  /** A flag of `busbar server`, or a hint at its start. */
  readonly flags?: readonly string[];
  readonly warning?: string;
};

/** One key that go-schedule reads. */
export interface Key {
  /** The value, in one form. Throws with its position when the form is wrong. */
  read(value: Value): string;
  means(text: string): Meaning;
}

/** Its three programs, each with a file of that name. */
export const fileKinds = ["management-node", "worker-node", "schedctl"] as const;
export type FileKind = (typeof fileKinds)[number];

const anyText = (value: Value): string => value.text();

/** Its durations are numbers of seconds: it reads a value with a unit as 0. */
function seconds(value: Value): string {
  const text = value.text();
  const max = limits.durationMsMax / 1_000;
  if (/^[1-9]\d{0,8}$/.test(text) && Number(text) <= max) return text;
  throw value.fail(`"${text}" is not a whole number of seconds from 1 to ${max}; write it like 10`);
}

/** As in Go: without a host, all interfaces. */
function listeningAddress(value: Value): string {
  const text = value.text().replace(/^:/, "0.0.0.0:");
  try {
    parseAddress(text, "");
    return text;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw value.fail(
      `"${value.text()}" is not an address with a port; write it like 127.0.0.1:1234`,
    );
  }
}

const POLICIES: ReadonlyMap<string, string> = new Map([
  ["rr", "round-robin"],
  ["rand", "random"],
]);

function algorithm(value: Value): string {
  const policy = POLICIES.get(value.text());
  if (policy !== undefined) return policy;
  throw value.fail(`"${value.text()}" is not known to go-schedule either; there are rr and rand`);
}

/** logrus has more levels. */
const LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ["panic", "error"],
  ["fatal", "error"],
  ["error", "error"],
  ["warn", "warn"],
  ["warning", "warn"],
  ["info", "info"],
  ["debug", "debug"],
  ["trace", "debug"],
]);

function logLevel(value: Value): string {
  const level = LEVELS.get(value.text().toLowerCase());
  if (level !== undefined) return level;
  throw value.fail(`"${value.text()}" is not one of ${[...LEVELS.keys()].join(", ")}`);
}

const flag = (name: string, value: string, hint?: string): Meaning => ({
  becomes: `${name} ${value}`,
  kind: "flag",
  flags: [name, value],
  ...(hint === undefined ? {} : { hint }),
});
const nothing = (why: string): Meaning => ({ becomes: `nothing: ${why}`, kind: "none" });
const itself = (what: string): Meaning => ({ becomes: `itself: ${what}`, kind: "stays" });

function listening(address: string): Meaning {
  if (isLoopback(parseAddress(address, "").host)) return flag("--go-schedule", address);
  const needs =
    "--go-schedule-cert, --go-schedule-key and --go-schedule-ca, or --go-schedule-insecure";
  return {
    ...flag("--go-schedule", address, `add ${needs}`),
    warning:
      `listening_address: every client that reaches ${address} can run any command on every worker, so the server ` +
      `starts there only with ${needs}; go-schedule's own programs speak no TLS`,
  };
}

const ETCD: Meaning = {
  becomes: "nothing: the server keeps its own data, in --data",
  kind: "blocked",
  hint: "task_* and worker_* in etcd are not read; let go-schedule finish its tasks first",
};

const UNUSED = nothing("go-schedule does not use it either");

const managementNode: Readonly<Record<string, Key>> = {
  "basic_config.log_level": { read: logLevel, means: (level) => flag("--log-level", level) },
  "basic_config.stdout": { read: anyText, means: () => nothing("logs go to standard error") },
  "basic_config.log_path": {
    read: anyText,
    means: () => nothing("logs go to standard error; 2>>FILE keeps them"),
  },
  "basic_config.tmp_path": { read: anyText, means: () => UNUSED },
  listening_address: { read: listeningAddress, means: listening },
  ping_timer: { read: seconds, means: (text) => flag("--go-schedule-ping", `${text}s`) },
  silence_timeout: { read: seconds, means: (text) => flag("--go-schedule-silence", `${text}s`) },
  etcd_address: { read: anyText, means: () => ETCD },
  etcd_dial_timeout: { read: seconds, means: () => nothing("no etcd is dialled") },
  scheduler_algo: { read: algorithm, means: (policy) => flag("--policy", policy) },
  dead_timeout: {
    read: seconds,
    means: (text) =>
      flag(
        "--go-schedule-time-limit",
        `${text}s`,
        "a task that runs longer is stopped, not only given up",
      ),
  },
};

/** The destination of the log of a program that stays unchanged. */
const logOf: Readonly<Record<string, Key>> = {
  "basic_config.log_level": { read: logLevel, means: () => itself("what it logs") },
  "basic_config.stdout": { read: anyText, means: () => itself("where it logs") },
  "basic_config.log_path": { read: anyText, means: () => itself("where it logs") },
  "basic_config.tmp_path": { read: anyText, means: () => UNUSED },
};

const serverAddress: Key = {
  read: anyText,
  means: () => itself("must lead to the server's --go-schedule"),
};

/** A worker disconnects when it receives nothing for so long; one ping may be late. */
function silenceOfWorker(text: string): Meaning {
  const silence = Number(text);
  const usual = limits.goSchedulePingMs;
  if (silence * 1_000 >= 2 * usual) return itself("how long it waits for a message of the server");
  const ping = silence === 1 ? "500ms" : `${Math.floor(silence / 2)}s`;
  return {
    ...itself("how long it waits for a message of the server"),
    hint: `the server needs --go-schedule-ping ${ping}`,
    warning:
      `silence_timeout: the worker leaves when it hears nothing for ${silence} s: start the server ` +
      `with --go-schedule-ping ${ping}, or less (default: ${formatDuration(usual)})`,
  };
}

const workerNode: Readonly<Record<string, Key>> = {
  ...logOf,
  server_address: serverAddress,
  silence_timeout: { read: seconds, means: silenceOfWorker },
  reconnect_timeout: { read: seconds, means: () => itself("how soon it reconnects") },
  connection_timeout: {
    read: anyText,
    means: () => nothing("go-schedule reads connetion_timeout instead, and does not use it either"),
  },
  connetion_timeout: { read: anyText, means: () => UNUSED },
  dial_timeout: { read: anyText, means: () => itself("older workers read it") },
};

const schedctl: Readonly<Record<string, Key>> = {
  ...logOf,
  server_address: serverAddress,
  connection_timeout: { read: seconds, means: () => itself("how long it waits for an answer") },
};

export const keysOf: Readonly<Record<FileKind, Readonly<Record<string, Key>>>> = {
  "management-node": managementNode,
  "worker-node": workerNode,
  schedctl,
};
