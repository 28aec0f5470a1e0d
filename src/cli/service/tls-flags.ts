import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import type { TlsPaths } from "../context.ts";
import { notEmpty } from "../flags.ts";

/** `--rainbow-cert` and the like, for one flag that opens a port. */
export function addTlsFlags(
  command: Command,
  flag: string,
  texts: Readonly<Record<"cert" | "key" | "ca", string>>,
): void {
  for (const [file, text] of Object.entries(texts)) {
    command.option(`${flag}-${file} <file>`, text, notEmpty(`${flag}-${file}`));
  }
}

/** Undefined: none are given. Throws when some are missing. */
export function tlsOf(
  flag: string,
  { cert, key, ca }: Readonly<Record<"cert" | "key" | "ca", string | undefined>>,
): TlsPaths | undefined {
  if (cert === undefined && key === undefined) {
    if (ca !== undefined) throw invalid(`${flag}-ca`, `needs ${flag}-cert and ${flag}-key`);
    return undefined;
  }
  if (cert === undefined) throw invalid(`${flag}-key`, `needs ${flag}-cert`);
  if (key === undefined) throw invalid(`${flag}-cert`, `needs ${flag}-key`);
  return { cert, key, ...(ca === undefined ? {} : { ca }) };
}

/** Flags that refine `flag` must not be given without it. */
export function checkAlone(flag: string, others: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) continue;
    const other = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw invalid(other, `is about ${flag}, which is not given`);
  }
}
