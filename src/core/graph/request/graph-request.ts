import { withField } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Resources } from "../../model/resources.ts";
import { conversion } from "./amount.ts";
import {
  type Alternative,
  type CompiledRequest,
  compileRequest,
  type Need,
} from "../match/compile-request.ts";
import type { ResourceChoice, ResourceRequest } from "./request.ts";

/** The graph resources that a task requests, prepared once for all tasks with the same request. */
export interface GraphRequest {
  /** Equal for equal choices. */
  readonly key: string;
  readonly compiled: CompiledRequest;
  /** Each alternative by itself, in order of preference. */
  readonly alternatives: readonly CompiledRequest[];
}

// Jobs with the same request share one choice object.
const prepared = new WeakMap<ResourceChoice, GraphRequest>();
// Equal choices of jobs that were submitted one by one share the cached matches of graphs.
const recent = new Map<string, GraphRequest>();

/** Throws the problem of an invalid choice, as part of `field`. */
export function graphRequest(choice: ResourceChoice, field = "request"): GraphRequest {
  const known = prepared.get(choice);
  if (known !== undefined) return known;
  try {
    const key = JSON.stringify(choice);
    const request = recent.get(key) ?? {
      key,
      compiled: compileRequest(choice),
      alternatives: choice.map((trees) => compileRequest([trees])),
    };
    prepared.set(choice, request);
    recent.delete(key);
    recent.set(key, request);
    const [oldest] = recent.keys();
    if (recent.size > limits.knownGraphRequestsMax && oldest !== undefined) recent.delete(oldest);
    return request;
  } catch (error) {
    throw withField(error, (at) => at.replace(/^resources/, field));
  }
}

export const CPU = 1_000;

/**
 * Leaves of a graph as resources of a node. A task that names no core still runs on one, like a
 * task that requests nothing.
 */
export function resourcesOfLeaves(
  leaves: Iterable<readonly [type: string, amount: number]>,
): Resources {
  const taken: Record<string, number> = {};
  for (const [type, amount] of leaves) {
    const name = type === "core" ? "cpu" : type;
    // Division leaves errors of about a millionth: rounding up must not turn them into a larger
    // part of a cpu.
    const whole = Math.ceil(amount * (type === "core" ? CPU : 1) - 1e-6);
    taken[name] = (Object.hasOwn(taken, name) ? (taken[name] ?? 0) : 0) + whole;
  }
  taken["cpu"] ??= CPU;
  return taken;
}

/**
 * What one task takes, approximately, by the first alternative: for display and for the shares of
 * groups.
 */
export const needsOf = ({ compiled }: GraphRequest): Resources =>
  amountsOf(compiled.alternatives[0]).amounts;

/**
 * The amounts of an alternative with all its copies, and the number of nodes that it has to itself:
 * nodes that are exclusive, or without children in the request. On nodes that it shares, only
 * amounts count.
 */
export function amountsOf(alternative: Alternative | undefined): {
  readonly amounts: Resources;
  readonly nodes: number;
} {
  const leaves: [string, number][] = [];
  let nodes = 0;
  const walk = (need: Need, copies: number): void => {
    const count = copies * need.count;
    for (const inner of need.inside) walk(inner, count);
    if (need.type === "node" && (need.isExclusive || need.inside.length === 0)) nodes += count;
    if (need.inside.length > 0 || need.type === undefined || need.type === "node") return;
    const factor = need.type === "memory" ? conversion(need.unit ?? "", "B") : 1;
    if (factor !== undefined && isResource(need.type)) leaves.push([need.type, count * factor]);
  };
  for (const tree of alternative?.trees ?? []) walk(tree, 1);
  return { amounts: resourcesOfLeaves(leaves), nodes };
}

/** Types are free text; a type that is not a valid resource name is matched and not counted. */
export const isResource = (type: string): boolean =>
  /^[a-z][a-z0-9]*(?:[._/-][a-z0-9]+)*$/.test(type) && !(type in Object.prototype);

const choices = new WeakMap<Resources, ResourceChoice>();

/** The graph request of a task with these needs: all of them in one place. */
export function choiceOf(needs: Resources): ResourceChoice {
  let choice = choices.get(needs);
  if (choice === undefined) choices.set(needs, (choice = toChoice(needs)));
  return choice;
}

const toChoice = (needs: Resources): ResourceChoice =>
  Object.keys(needs).length === 0 ? [[]] : [[slotOf(needs)]];

const slotOf = (needs: Resources): ResourceRequest => ({
  ...PLAIN,
  type: "slot",
  isSlot: true,
  with: Object.entries(needs).map(([name, amount]) => ({
    ...PLAIN,
    type: name === "cpu" ? "core" : name,
    count: name === "cpu" ? amount / CPU : amount,
    unit: name === "memory" ? "B" : undefined,
  })),
});

const PLAIN = {
  count: 1,
  unit: undefined,
  isSlot: false,
  isExclusive: false,
  label: undefined,
  requires: [],
  with: [],
};
