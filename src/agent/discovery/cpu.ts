import type { FactEntry } from "../../core/model/node/node-facts.ts";

/** The processors that this process may use, as the kernel describes them. */
export interface Processors {
  /** 0: unknown. */
  readonly sockets: number;
  /** One entry for each model, then one for each feature that all processors have. */
  readonly entries: readonly FactEntry[];
}

type Block = ReadonlyMap<string, string>;

/**
 * Parses /proc/cpuinfo: a block of "key : value" for each thread; the keys differ between architectures. `allowed` are the numbers of the
 * processors to count; undefined: all.
 */
export function parseCpuinfo(text: string, allowed: ReadonlySet<number> | undefined): Processors {
  const all = text.split(/\n\s*\n/).map(parseBlock);
  const blocks = all.filter((block) => {
    const number = block.get("processor");
    return number !== undefined && /^\d+$/.test(number) && (allowed?.has(Number(number)) ?? true);
  });
  const sockets = new Set(blocks.map((block) => block.get("physical id")));
  const models = new Map<string, Block[]>();
  for (const block of blocks) {
    const key = JSON.stringify(modelOf(block));
    models.set(key, [...(models.get(key) ?? []), block]);
  }
  return {
    sockets: sockets.has(undefined) ? 0 : sockets.size,
    entries: [...[...models.values()].flatMap(describeModel), ...featuresOf(blocks)],
  };
}

function parseBlock(text: string): Block {
  const block = new Map<string, string>();
  for (const line of text.split("\n")) {
    const at = line.indexOf(":");
    if (at > 0) block.set(line.slice(0, at).trim(), line.slice(at + 1).trim());
  }
  return block;
}

/** The designers of arm processors; arm's registry assigns these numbers. */
const IMPLEMENTERS: Readonly<Record<string, string>> = {
  "0x41": "ARM",
  "0x42": "Broadcom",
  "0x43": "Cavium",
  "0x46": "Fujitsu",
  "0x48": "HiSilicon",
  "0x4e": "NVIDIA",
  "0x50": "APM",
  "0x51": "Qualcomm",
  "0x61": "Apple",
  "0xc0": "Ampere",
};

/** Leaves out values that change at run time, such as the clock rate. */
function modelOf(block: Block): FactEntry {
  const implementer = block.get("CPU implementer");
  const vendor =
    block.get("vendor_id") ??
    (implementer === undefined ? undefined : (IMPLEMENTERS[implementer] ?? implementer));
  return compact({
    name: block.get("model name") ?? block.get("cpu"),
    vendor,
    family: whole(block.get("cpu family")),
    model: whole(block.get("model")),
    stepping: whole(block.get("stepping")),
    part: block.get("CPU part"),
    architecture: whole(block.get("CPU architecture")),
  });
}

function describeModel(blocks: readonly Block[]): readonly FactEntry[] {
  const [first] = blocks;
  if (first === undefined) return [];
  const model = modelOf(first);
  if (Object.keys(model).length === 0) return [];
  const cores = new Set(
    blocks.map((block) => `${block.get("physical id")} ${block.get("core id")}`),
  );
  const isKnown = blocks.every((block) => block.has("physical id") && block.has("core id"));
  return [{ ...model, ...(isKnown ? { cores: cores.size } : {}), threads: blocks.length }];
}

function featuresOf(blocks: readonly Block[]): readonly FactEntry[] {
  let common: ReadonlySet<string> | undefined;
  let last = "";
  for (const block of blocks) {
    const text = block.get("flags") ?? block.get("Features") ?? "";
    if (common !== undefined && text === last) continue;
    last = text;
    const own = new Set(text.split(/\s+/).filter((word) => word !== ""));
    common = common === undefined ? own : new Set([...common].filter((one) => own.has(one)));
  }
  return [...(common ?? [])].sort().map((feature) => ({ feature }));
}

const whole = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

function compact(fields: Readonly<Record<string, string | number | undefined>>): FactEntry {
  const entry: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined && value !== "") entry[name] = value;
  }
  return entry;
}
