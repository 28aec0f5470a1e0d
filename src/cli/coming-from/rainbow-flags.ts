import type { Command } from "commander";
import { isLoopback, parseAddress } from "../../lib/address.ts";
import { invalid } from "../../lib/errors.ts";
import type { DoorFlags } from "../context.ts";
import { address } from "../flags.ts";
import { addTlsFlags, checkAlone, tlsOf } from "../service/tls-flags.ts";

/** The flags as written. */
export interface RainbowCommandOptions {
  /** true: the flag without an address. */
  readonly rainbow?: string | true;
  readonly rainbowCert?: string;
  readonly rainbowKey?: string;
  readonly rainbowCa?: string;
  readonly rainbowPlaintext?: true;
}

/** The port that rainbow's clients connect to by default. */
const ADDRESS_DEFAULT = "127.0.0.1:50051";

export function addRainbowFlags(command: Command): void {
  command.option(
    "--rainbow [address]",
    `serve rainbow's clients here (default: ${ADDRESS_DEFAULT})`,
    address("--rainbow"),
  );
  addTlsFlags(command, "--rainbow", {
    cert: "serve them with TLS too: certificate",
    key: "and its key",
    ca: "and accept only clients with a certificate of this authority",
  });
  command.option(
    "--rainbow-plaintext",
    "allow clients without TLS on addresses that other machines can reach",
  );
}

/** The meaning of the flags together. Throws when they contradict each other. */
export function rainbowOf({
  rainbow,
  ...others
}: {
  readonly [Name in keyof RainbowCommandOptions]: RainbowCommandOptions[Name] | undefined;
}): DoorFlags | undefined {
  if (rainbow === undefined) {
    checkAlone("--rainbow", others);
    return undefined;
  }
  const { rainbowCert, rainbowKey, rainbowCa, rainbowPlaintext } = others;
  const at = rainbow === true ? ADDRESS_DEFAULT : rainbow;
  const tls = tlsOf("--rainbow", { cert: rainbowCert, key: rainbowKey, ca: rainbowCa });
  const allowsPlaintext =
    rainbowPlaintext === true || isLoopback(parseAddress(at, "--rainbow").host);
  if (tls === undefined && !allowsPlaintext) {
    throw invalid(
      "--rainbow",
      `at ${at} secrets would cross the network unencrypted: give --rainbow-cert and --rainbow-key, ` +
        "or allow it with --rainbow-plaintext",
    );
  }
  return { address: at, allowsPlaintext, ...(tls === undefined ? {} : { tls }) };
}
