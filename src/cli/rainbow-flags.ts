import type { Command } from "commander";
import { isLoopback, parseAddress } from "../lib/address.ts";
import { invalid } from "../lib/errors.ts";
import type { RainbowFlags } from "./context.ts";
import { address, notEmpty } from "./flags.ts";

/** As they are written. */
export interface RainbowOptions {
  /** true: the flag without an address. */
  readonly rainbow?: string | true;
  readonly rainbowCert?: string;
  readonly rainbowKey?: string;
  readonly rainbowCa?: string;
  readonly rainbowPlaintext?: true;
}

/** The port that rainbow's clients dial when they are not told otherwise. */
const ADDRESS_DEFAULT = "127.0.0.1:50051";

export function addRainbowFlags(command: Command): void {
  command
    .option(
      "--rainbow [address]",
      `serve rainbow's clients here (default: ${ADDRESS_DEFAULT})`,
      address("--rainbow"),
    )
    .option(
      "--rainbow-cert <file>",
      "serve them with TLS too: certificate",
      notEmpty("--rainbow-cert"),
    )
    .option("--rainbow-key <file>", "and its key", notEmpty("--rainbow-key"))
    .option(
      "--rainbow-ca <file>",
      "and take only callers with a certificate of this authority",
      notEmpty("--rainbow-ca"),
    )
    .option("--rainbow-plaintext", "allow callers without TLS where others can listen");
}

/** What the flags say together. Throws when they contradict each other. */
export function rainbowOf({
  rainbow,
  ...others
}: {
  readonly [Name in keyof RainbowOptions]: RainbowOptions[Name] | undefined;
}): RainbowFlags | undefined {
  if (rainbow === undefined) {
    checkAlone(others);
    return undefined;
  }
  const { rainbowCert, rainbowKey, rainbowCa, rainbowPlaintext } = others;
  const at = rainbow === true ? ADDRESS_DEFAULT : rainbow;
  const tls = tlsOf({ cert: rainbowCert, key: rainbowKey, ca: rainbowCa });
  const allowsPlaintext =
    rainbowPlaintext === true || isLoopback(parseAddress(at, "--rainbow").host);
  if (tls === undefined && !allowsPlaintext) {
    throw invalid(
      "--rainbow",
      `at ${at} others could read secrets on their way: give --rainbow-cert and --rainbow-key, ` +
        "or allow it with --rainbow-plaintext",
    );
  }
  return { address: at, allowsPlaintext, ...(tls === undefined ? {} : { tls }) };
}

function checkAlone(others: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw invalid(flag, "is about --rainbow, which is not given");
  }
}

function tlsOf({
  cert,
  key,
  ca,
}: Readonly<Record<"cert" | "key" | "ca", string | undefined>>): RainbowFlags["tls"] {
  if (cert === undefined && key === undefined) {
    if (ca !== undefined) throw invalid("--rainbow-ca", "needs --rainbow-cert and --rainbow-key");
    return undefined;
  }
  if (cert === undefined) throw invalid("--rainbow-key", "needs --rainbow-cert");
  if (key === undefined) throw invalid("--rainbow-cert", "needs --rainbow-key");
  return { cert, key, ...(ca === undefined ? {} : { ca }) };
}
