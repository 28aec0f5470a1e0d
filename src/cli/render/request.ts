import { readResourceChoice } from "../../core/graph/request/read-request.ts";
import type { ResourceChoice, ResourceRequest } from "../../core/graph/request/request.ts";
import { describeRequirement } from "../../core/graph/request/requirement.ts";
import { formatBytes } from "../../lib/units.ts";
import { cut } from "./page.ts";

/** The maximum width of a request; `--output json` has all of it. */
const WIDTH_MAX = 200;

/**
 * The graph request of a job in short words: "1 node with 2 cores and 4GiB memory, spack name=ior, version >= 3.3". A request that this
 * version cannot parse is shown unchanged.
 */
export function requestText(request: unknown): string {
  if (request === undefined) return "";
  return cut(describeIfKnown(request) ?? JSON.stringify(request), WIDTH_MAX);
}

function describeIfKnown(request: unknown): string | undefined {
  try {
    return describeChoice(readResourceChoice(request));
  } catch {
    return undefined;
  }
}

const describeChoice = (choice: ResourceChoice): string =>
  choice.map((trees) => trees.map(describeTree).join(", and ")).join("; or ");

function describeTree(tree: ResourceRequest): string {
  const isPlace = tree.type === "slot";
  const inside = [...partsOf(tree)].map(describeTree).join(" and ");
  const own = `${amountOf(tree)}${tree.isExclusive ? " alone" : ""}`;
  const whole = inside === "" ? own : `${own} ${isPlace ? "of" : "with"} ${inside}`;
  const requires = requirementsOf(tree).map(describeRequirement);
  return [whole, ...requires].join(", ");
}

/** A single slot adds nothing: its content is named instead. */
const isOneSlot = ({ type, count, label }: ResourceRequest): boolean =>
  type === "slot" && count === 1 && label === undefined;

function* partsOf(tree: ResourceRequest): Iterable<ResourceRequest> {
  for (const part of tree.with) {
    if (isOneSlot(part)) yield* partsOf(part);
    else yield part;
  }
}

const requirementsOf = (tree: ResourceRequest): ResourceRequest["requires"] => [
  ...tree.requires,
  ...tree.with.filter(isOneSlot).flatMap(requirementsOf),
];

function amountOf({ type, count, unit = "", label }: ResourceRequest): string {
  const name = label === undefined ? "" : ` ${label}`;
  if (unit === "B") return `${formatBytes(count)} ${type}${name}`;
  const many = count === 1 || unit !== "" || type === "memory" || type.endsWith("s") ? "" : "s";
  return `${count}${unit} ${type}${many}${name}`;
}
