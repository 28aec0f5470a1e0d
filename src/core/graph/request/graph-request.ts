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

/** What a task asks of graphs, prepared once for all tasks that ask for it. */
export interface GraphRequest {
  /** The same for choices that say the same. */
  readonly key: string;
  readonly compiled: CompiledRequest;
  /** Each alternative by itself, by preference. */
  readonly alternatives: readonly CompiledRequest[];
}

// Jobs that ask for the same thing share the object that says so.
const prepared = new WeakMap<ResourceChoice, GraphRequest>();
// Equal choices of jobs that came one by one share what graphs remember of their matches.
const recent = new Map<string, GraphRequest>();

/** Throws what is wrong with the choice, as part of `field`. */
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
 * What leaves of a graph are as resources of a node. A task that speaks of no core runs on one all
 * the same, as one that asks for nothing does.
 */
export function toTaken(leaves: Iterable<readonly [type: string, amount: number]>): Resources {
  const taken: Record<string, number> = {};
  for (const [type, amount] of leaves) {
    const name = type === "core" ? "cpu" : type;
    // Millionths are what is left of dividing: a part of a cpu must not become a larger one.
    const whole = Math.ceil(amount * (type === "core" ? CPU : 1) - 1e-6);
    taken[name] = (Object.hasOwn(taken, name) ? (taken[name] ?? 0) : 0) + whole;
  }
  taken["cpu"] ??= CPU;
  return taken;
}

/** About what one task takes, by the first alternative: for people, and for shares of groups. */
export const needsOf = ({ compiled }: GraphRequest): Resources =>
  amountsOf(compiled.alternatives[0]).amounts;

/**
 * What an alternative comes to, with all copies of it, and how many nodes it has for itself: those
 * that are exclusive, or of which nothing is asked. Others it shares: there only amounts count.
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
  return { amounts: toTaken(leaves), nodes };
}

/** Types are free text; what is no name of a resource is matched and not counted. */
export const isResource = (type: string): boolean =>
  /^[a-z][a-z0-9]*(?:[._/-][a-z0-9]+)*$/.test(type) && !(type in Object.prototype);

const choices = new WeakMap<Resources, ResourceChoice>();

/** What a task with these needs asks of the graph of a cluster: all of it in one place. */
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
