import type { Command } from "commander";
import { formatAddress, isLoopback, parseAddress } from "../../lib/address.ts";
import { invalid } from "../../lib/errors.ts";
import type { NexusFlags } from "../context.ts";
import { address, notEmpty } from "../flags.ts";
import { collecting } from "../single-flags.ts";
import { checkAlone } from "../service/tls-flags.ts";

/** The flags as written. */
export interface NexusCommandOptions {
  /** true: the flag without an address. */
  readonly nexus?: string | true;
  readonly nexusInsecure?: true;
  readonly nexusRest?: string;
  readonly nexusRestOrigin?: readonly string[];
  readonly nexusRestOidc?: string;
  readonly nexusExternalScheduler?: true;
}

const FLAG = "--nexus";
const REST = "--nexus-rest";
const ORIGIN = "--nexus-rest-origin";
const OIDC = "--nexus-rest-oidc";
/** The address where the programs of the edge power scheduler look for it. */
const ADDRESS_DEFAULT = "127.0.0.1:8000";

export function addNexusFlags(command: Command): void {
  command
    .option(
      `${FLAG} [address]`,
      `serve kubectl, and edges and clients of nexus, here (default: ${ADDRESS_DEFAULT})`,
      address(FLAG),
    )
    .option(`${FLAG}-insecure`, "allow every client that can reach that port to use it")
    .option(
      `${REST} <address>`,
      "serve the REST gateway of nexus here (default: the port after that of --nexus)",
      address(REST),
    )
    .option(
      `${ORIGIN} <origin>`,
      "allow web pages of this origin to call the gateway, like https://console.example.com",
      origin,
    )
    .option(
      `${OIDC} <file>`,
      "require a token of the OpenID provider that this file describes from callers of the gateway",
      notEmpty(OIDC),
    )
    .option(
      `${FLAG}-external-scheduler`,
      "assign no shares: an external scheduler creates the JobInfos of jobs with energy",
    );
}

type Given = {
  readonly [Name in keyof NexusCommandOptions]-?: NexusCommandOptions[Name] | undefined;
};

/** The meaning of the flags together. Throws when they contradict each other. */
export function nexusOf({ nexus, ...more }: Given): NexusFlags | undefined {
  if (nexus === undefined) {
    checkAlone(FLAG, more);
    return undefined;
  }
  const at = nexus === true ? ADDRESS_DEFAULT : nexus;
  const rest = more.nexusRest ?? afterIt(at);
  const isInsecure = more.nexusInsecure === true;
  const oidcFile = more.nexusRestOidc;
  for (const [flag, where, isGuarded] of [
    [FLAG, at, false],
    [REST, rest, oidcFile !== undefined],
  ] as const) {
    if (isInsecure || isGuarded || isLoopback(parseAddress(where, flag).host)) continue;
    throw invalid(
      flag,
      `at ${where} other machines could submit and delete jobs: this API has no users and no encryption; ` +
        `listen on 127.0.0.1 and connect through a tunnel (ssh -L), or allow it with ${FLAG}-insecure`,
    );
  }
  const isSchedulerExternal = more.nexusExternalScheduler === true;
  return {
    address: at,
    rest,
    origins: more.nexusRestOrigin ?? [],
    isInsecure,
    isSchedulerExternal,
    ...(oidcFile === undefined ? {} : { oidcFile }),
  };
}

/** As in the old system: 8001 beside 8000. */
function afterIt(at: string): string {
  const { host, port } = parseAddress(at, FLAG);
  return formatAddress({ host, port: port === 0 || port === PORT_MAX ? 0 : port + 1 });
}

const PORT_MAX = 65_535;

const origin = collecting((text: string, before: readonly string[] = []): readonly string[] => {
  if (URL.canParse(text) && new URL(text).origin === text) return [...before, text];
  throw invalid(ORIGIN, `"${text}" is not an origin, like https://console.example.com`);
});
