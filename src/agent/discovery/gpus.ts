import type { FactEntry } from "../../core/model/node/node-facts.ts";
import type { Machine } from "./machine.ts";

/** Devices that have a driver: only those can run computations. */
export interface Gpus {
  readonly count: number;
  /** One entry for each model, with the number of devices. */
  readonly entries: readonly FactEntry[];
}

export async function findGpus(machine: Machine): Promise<Gpus> {
  const [nvidia, amd] = await Promise.all([findNvidia(machine), findAmd(machine)]);
  const all = [...nvidia, ...amd];
  return { count: all.length, entries: byModel(all) };
}

const NVIDIA_QUERY = ["--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"];

/** The same, with the more exact answers of NVIDIA's own program, if it is installed. */
export async function describeGpus(
  machine: Machine,
  known: readonly FactEntry[],
): Promise<readonly FactEntry[]> {
  const program = await machine.find("nvidia-smi");
  const output = program === undefined ? undefined : await machine.run(program, NVIDIA_QUERY);
  const told = output === undefined ? [] : parseNvidiaSmi(output);
  if (told.length === 0) return known;
  return [...byModel(told), ...known.filter(({ vendor }) => vendor !== "nvidia")];
}

/** "Own GPU 80, 535.104.05, 81920 MiB", a line each. */
export function parseNvidiaSmi(output: string): readonly FactEntry[] {
  return output.split("\n").flatMap((line) => {
    const match = /^\s*(.+?), (\d[\d.]*), (\d+ [KMG]iB)\s*$/.exec(line);
    const [, name = "", driver = "", memory = ""] = match ?? [];
    return match === null ? [] : [{ vendor: "nvidia", name, driver, memory }];
  });
}

function byModel(all: readonly FactEntry[]): readonly FactEntry[] {
  const models = new Map<string, { readonly entry: FactEntry; count: number }>();
  for (const entry of all) {
    const known = models.get(JSON.stringify(entry));
    if (known === undefined) models.set(JSON.stringify(entry), { entry, count: 1 });
    else known.count++;
  }
  return [...models.values()].map(({ entry, count }) => ({ ...entry, count }));
}

const NVIDIA = "/proc/driver/nvidia/gpus";

async function findNvidia(machine: Machine): Promise<readonly FactEntry[]> {
  const folders = await machine.list(NVIDIA);
  if (folders.length === 0) return [];
  const driver = (await machine.read("/sys/module/nvidia/version"))?.trim();
  const texts = await Promise.all(
    folders.map((folder) => machine.read(`${NVIDIA}/${folder}/information`)),
  );
  return texts.flatMap((text) => (text === undefined ? [] : [parseNvidia(text, driver)]));
}

export function parseNvidia(text: string, driver: string | undefined): FactEntry {
  const name = /^Model:\s*(.+?)\s*$/m.exec(text)?.[1];
  return {
    vendor: "nvidia",
    ...(name === undefined ? {} : { name }),
    ...(driver === undefined || driver === "" ? {} : { driver }),
  };
}

const KFD = "/sys/class/kfd/kfd/topology/nodes";

/** The compute driver lists processors too; those have no vector units. */
async function findAmd(machine: Machine): Promise<readonly FactEntry[]> {
  const nodes = await machine.list(KFD);
  const found = await Promise.all(
    nodes.map(async (node) => {
      const properties = (await machine.read(`${KFD}/${node}/properties`)) ?? "";
      if (!isKfdGpu(properties)) return [];
      return [parseKfd(properties, await machine.read(`${KFD}/${node}/name`))];
    }),
  );
  return found.flat();
}

const property = (text: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d{1,15})$`, "m").exec(text)?.[1] ?? 0);

export const isKfdGpu = (properties: string): boolean => property(properties, "simd_count") > 0;

/** 90010 is gfx90a: major, minor and stepping of the instruction set, the last two in hexadecimal. */
export function parseKfd(properties: string, nameText: string | undefined): FactEntry {
  const name = nameText?.trim() ?? "";
  const version = property(properties, "gfx_target_version");
  const parts = [Math.floor(version / 10_000), Math.floor(version / 100) % 100, version % 100];
  const target = `gfx${parts[0]}${parts[1]?.toString(16)}${parts[2]?.toString(16)}`;
  return {
    vendor: "amd",
    ...(name === "" ? {} : { name }),
    ...(version === 0 ? {} : { target }),
  };
}
