import { basename } from "node:path";
import type { Command } from "commander";
import type {
  Requirement,
  ResourceChoice,
  ResourceRequest,
} from "../../core/graph/request/request.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Context } from "../context.ts";
import { notEmpty } from "../flags.ts";
import { requirement } from "./requirement.ts";

/** The graph request of a job, in addition to or instead of amounts. */
export interface RequestFlags {
  readonly request?: string;
  readonly require?: readonly Requirement[];
}

type Amounts = Readonly<Record<string, number>>;

export function addRequestFlags(command: Command): void {
  command
    .option(
      "--require <subsystem:conditions>",
      "only on a node that has this, e.g. spack:name=ior,version>=3.3 (repeatable)",
      requirement("--require"),
    )
    .option(
      "--request <file>",
      "the graph request of each task, YAML or JSON: a file, or the text itself if it begins with [",
      notEmpty("--request"),
    );
}

/** As on the wire: JSON; undefined when amounts are sufficient. */
export async function requestOf(
  { request, require: requires }: RequestFlags,
  amounts: Amounts,
  context: Context,
): Promise<string | undefined> {
  if (request === undefined) {
    return requires === undefined ? undefined : JSON.stringify(onOneNode(requires, amounts));
  }
  if (requires !== undefined) {
    throw invalid("--require", "cannot be combined with --request; write it into the request");
  }
  return readRequest(request, context);
}

/** Checked here too, because the mistake is on this command line. */
async function readRequest(given: string, context: Context): Promise<string> {
  const isText = given.trimStart().startsWith("[");
  const name = isText ? "--request" : given === "-" ? "stdin" : basename(given);
  const text = isText
    ? given
    : (await context.readInput(given, limits.messageBytesMax)).toString("utf8");
  const { readResourceChoice } = await import("../../core/graph/request/read-request.ts");
  const { readPlainYaml } = await import("../yaml/plain-yaml.ts");
  const value = readPlainYaml(text, name, DEPTH_MAX);
  readResourceChoice(value, name);
  return JSON.stringify(value);
}

/** Each level of a tree is a list in a map; requirements go a few levels further. */
const DEPTH_MAX = 2 * limits.requestDepthMax + 16;

/** A task on one node that meets all requirements, with these amounts. */
export function onOneNode(requires: readonly Requirement[], amounts: Amounts): ResourceChoice {
  const { cpu = 1, memory, ...others } = amounts;
  const inside = [
    thing("core", cpu),
    ...(memory === undefined ? [] : [{ ...thing("memory", memory), unit: "B" }]),
    ...Object.entries(others).map(([type, count]) => thing(type, count)),
  ];
  const slot = { ...thing("slot", 1), isSlot: true, with: inside };
  return [[{ ...thing("node", 1), requires, with: [slot] }]];
}

const thing = (type: string, count: number): ResourceRequest => ({
  type,
  count,
  unit: undefined,
  isSlot: false,
  isExclusive: false,
  label: undefined,
  requires: [],
  with: [],
});
