import { dirname, join } from "node:path";
import type { FactEntry } from "../../core/model/node/node-facts.ts";
import { limits } from "../../limits.ts";
import type { Machine } from "./machine.ts";

/** The installed packages of spack, if it is there. Reads the database only when it has changed. */
export class Spack {
  #known: { readonly stamp: string; readonly entries: readonly FactEntry[] } | undefined;

  async find(machine: Machine): Promise<readonly FactEntry[]> {
    const program = await machine.find("spack");
    const root = machine.env["SPACK_ROOT"] || (await rootOf(machine, program));
    const database = root === undefined ? "" : join(root, "opt/spack/.spack-db/index.json");
    const stamp = database === "" ? undefined : await machine.stamp(database);
    if (stamp !== undefined) return await this.#read(machine, database, `${database} ${stamp}`);
    if (program === undefined) return [];
    const bounds = {
      timeoutMs: limits.spackFindMsMax,
      outputBytesMax: limits.spackOutputBytesMax,
    };
    return parseSpackFind((await machine.run(program, ["find", "--json"], bounds)) ?? "");
  }

  async #read(machine: Machine, path: string, stamp: string): Promise<readonly FactEntry[]> {
    if (this.#known?.stamp !== stamp) {
      const text = await machine.read(path, limits.spackOutputBytesMax);
      this.#known = { stamp, entries: parseSpackIndex(text ?? "") };
    }
    return this.#known.entries;
  }
}

/** The program is in the folder "bin" of an installation. */
async function rootOf(machine: Machine, program: string | undefined): Promise<string | undefined> {
  const file = program === undefined ? undefined : await machine.resolve(program);
  return file === undefined ? undefined : dirname(dirname(file));
}

/** The database: installations by hash. Some entries only record removed installations. */
export function parseSpackIndex(text: string): readonly FactEntry[] {
  const installs = recordOf(recordOf(recordOf(parse(text))["database"])["installs"]);
  return toEntries(
    Object.values(installs)
      .map(recordOf)
      .filter((install) => install["installed"] === true)
      .map((install) => install["spec"]),
  );
}

/** The output of `spack find --json`: a list of specs. */
export function parseSpackFind(text: string): readonly FactEntry[] {
  const specs = parse(text);
  return Array.isArray(specs) ? toEntries(specs as readonly unknown[]) : [];
}

/** Each name and version once, however often it was built; in order, and of bounded number. */
function toEntries(specs: readonly unknown[]): readonly FactEntry[] {
  const entries = new Map<string, FactEntry>();
  for (const spec of specs.map(recordOf)) {
    const { name, version } = spec;
    if (typeof name !== "string" || typeof version !== "string" || name === "") continue;
    entries.set(`${name}@${version}`, { name, version });
  }
  return [...entries]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, limits.spackPackagesMax)
    .map(([, entry]) => entry);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
