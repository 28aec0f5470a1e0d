import type { Command } from "commander";
import { formatAddress, isLoopback, parseAddress } from "../../lib/address.ts";
import { invalid } from "../../lib/errors.ts";
import type { RikFlags } from "../context.ts";
import { address, notEmpty } from "../flags.ts";
import { checkAlone } from "../service/tls-flags.ts";

/** The flags as written. */
export interface RikCommandOptions {
  /** true: the flag without an address. */
  readonly rik?: string | true;
  readonly rikController?: string;
  readonly rikRest?: string;
  readonly rikSecretFile?: string;
  readonly rikInsecure?: true;
  readonly rikForget?: true;
}

const FLAG = "--rik";
const CONTROLLER = "--rik-controller";
const REST = "--rik-rest";
/** The addresses where rik's programs look for each other. */
const WORKERS_DEFAULT = "127.0.0.1:4995";
const CONTROLLERS_PORT = 4996;
const REST_PORT = 5000;
const OFF = "off";

export function addRikFlags(command: Command): void {
  command
    .option(
      `${FLAG} [address]`,
      `serve rik's workers here (default: ${WORKERS_DEFAULT})`,
      address(FLAG),
    )
    .option(
      `${CONTROLLER} <address>`,
      `and its controller here (default: the same host, port ${CONTROLLERS_PORT})`,
      address(CONTROLLER),
    )
    .option(
      `${REST} <address>`,
      `and rikctl, and users of its REST API, here (default: the same host, port ${REST_PORT}; ${OFF}: nowhere, as with a controller of rik)`,
      (text) => (text === OFF ? OFF : address(REST)(text)),
    )
    .option(
      `${FLAG}-secret-file <file>`,
      "require a token from all of them: the secret in this file, or a token derived from it",
      notEmpty(`${FLAG}-secret-file`),
    )
    .option(
      `${FLAG}-insecure`,
      "allow every client that can reach these ports to use them without a token",
    )
    .option(
      `${FLAG}-forget`,
      "send a controller that connects nothing of earlier instances until it destroys one (for one whose database was removed)",
    );
}

type Given = {
  readonly [Name in keyof RikCommandOptions]-?: RikCommandOptions[Name] | undefined;
};

/** The meaning of the flags together. Throws when they contradict each other. */
export function rikOf({ rik, ...more }: Given): RikFlags | undefined {
  if (rik === undefined) {
    checkAlone(FLAG, more);
    return undefined;
  }
  const workers = rik === true ? WORKERS_DEFAULT : rik;
  const { host, port } = parseAddress(workers, FLAG);
  // With port 0, as in tests, the others take any free port too.
  const beside = (other: number): string => formatAddress({ host, port: port === 0 ? 0 : other });
  const controllers = more.rikController ?? beside(CONTROLLERS_PORT);
  const rest = more.rikRest === OFF ? undefined : (more.rikRest ?? beside(REST_PORT));
  const isInsecure = more.rikInsecure === true;
  const isGuarded = isInsecure || more.rikSecretFile !== undefined;
  for (const [flag, where] of [
    [FLAG, workers],
    [CONTROLLER, controllers],
    [REST, rest],
  ] as const) {
    if (where === undefined || isGuarded || isLoopback(parseAddress(where, flag).host)) continue;
    throw invalid(
      flag,
      `at ${where} other machines could run containers on every worker: require tokens with ` +
        `${FLAG}-secret-file, or allow it with ${FLAG}-insecure`,
    );
  }
  const secretFile = more.rikSecretFile;
  return {
    workers,
    controllers,
    ...(rest === undefined ? {} : { rest }),
    isInsecure,
    replays: more.rikForget !== true,
    ...(secretFile === undefined ? {} : { secretFile }),
  };
}
