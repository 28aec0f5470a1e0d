import type { FactEntry } from "../../core/model/node/node-facts.ts";
import type { Machine } from "./machine.ts";

export async function findOs(machine: Machine): Promise<readonly FactEntry[]> {
  const text =
    (await machine.read("/etc/os-release")) ?? (await machine.read("/usr/lib/os-release"));
  return text === undefined ? [] : parseOsRelease(text);
}

/** Parses KEY=value lines as a shell does; the id is the name that people use. */
export function parseOsRelease(text: string): readonly FactEntry[] {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line.trim());
    if (match !== null) values.set(match[1] ?? "", unquote(match[2] ?? ""));
  }
  const name = values.get("ID");
  if (name === undefined || name === "") return [];
  const entry: Record<string, string> = { name };
  for (const [field, key] of [
    ["version", "VERSION_ID"],
    ["codename", "VERSION_CODENAME"],
    ["like", "ID_LIKE"],
    ["pretty", "PRETTY_NAME"],
  ] as const) {
    const value = values.get(key);
    if (value !== undefined && value !== "") entry[field] = value;
  }
  return [entry];
}

function unquote(text: string): string {
  const quoted = /^(["'])(.*)\1$/.exec(text);
  return quoted === null ? text : (quoted[2] ?? "").replaceAll(/\\(["'$`\\])/g, "$1");
}

export async function findKernel(machine: Machine): Promise<readonly FactEntry[]> {
  const [type, release] = await Promise.all([
    machine.read("/proc/sys/kernel/ostype"),
    machine.read("/proc/sys/kernel/osrelease"),
  ]);
  return release === undefined ? [] : parseKernel(type ?? "Linux", release);
}

/** "6.1.0-18-amd64" is version 6.1.0: the rest is the distribution's own numbering. */
export function parseKernel(type: string, text: string): readonly FactEntry[] {
  const release = text.trim();
  const version = /^\d+(?:\.\d+)*/.exec(release)?.[0];
  if (version === undefined) return [];
  return [{ name: type.trim().toLowerCase(), version, release }];
}
