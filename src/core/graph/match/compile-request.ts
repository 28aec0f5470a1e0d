import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Requirement, ResourceChoice, ResourceRequest } from "../request/request.ts";
import { type Test, testOf } from "../request/requirement.ts";

/** One vertex of a request, numbered parents first. */
export interface Need {
  readonly number: number;
  /** -1: it has no parent. */
  readonly above: number;
  /** Undefined: a slot without a type, which is a place and not a vertex. */
  readonly type: string | undefined;
  /** For each of the parent. */
  readonly count: number;
  readonly unit: string | undefined;
  readonly isExclusive: boolean;
  readonly requires: readonly CompiledRequirement[];
  readonly inside: readonly Need[];
  /** Its own type and those of its descendants, each once. */
  readonly types: readonly string[];
}

export interface CompiledRequirement {
  /** Its number within the alternative. */
  readonly number: number;
  readonly requirement: Requirement;
  readonly test: Test;
}

/** One way to satisfy a request; it needs all of its trees together. */
export interface Alternative {
  readonly needs: readonly Need[];
  readonly trees: readonly Need[];
  /** The number of requirements of all needs. */
  readonly requirements: number;
  /** What one slot is; without an explicit slot, the first tree with its count. */
  readonly slot: { readonly need: Need; readonly count: number } | undefined;
}

export interface CompiledRequest {
  readonly alternatives: readonly Alternative[];
}

/** Validates a request and prepares it once for any number of graphs. */
export function compileRequest(choice: ResourceChoice): CompiledRequest {
  if (choice.length === 0 || choice.length > limits.requestAlternativesMax) {
    const text = `1 to ${limits.requestAlternativesMax} alternatives, not ${choice.length}`;
    throw invalid("resources", text);
  }
  return {
    alternatives: choice.map((trees, at) =>
      compileAlternative(trees, choice.length === 1 ? "resources" : `resources[${at}]`),
    ),
  };
}

const SLOT = "slot";

function compileAlternative(trees: readonly ResourceRequest[], field: string): Alternative {
  const needs: Need[] = [];
  let requirements = 0;
  let slot: Alternative["slot"];
  const compile = (
    request: ResourceRequest,
    above: { readonly number: number; readonly slot: ResourceRequest | undefined },
    at: string,
    depth: number,
  ): Need => {
    check(request, at, depth, needs.length);
    const isPlace = request.type === SLOT;
    const number = needs.length;
    // A place has no vertices: its requirements apply to the vertices directly in it.
    const requires = [...(above.slot?.requires ?? []), ...request.requires];
    const isExclusive = request.isExclusive || above.slot?.isExclusive === true;
    const inside: Need[] = [];
    const types = new Set(isPlace ? [] : [request.type]);
    const need: Need & { types: readonly string[] } = {
      number,
      above: above.number,
      type: isPlace ? undefined : request.type,
      count: request.count,
      unit: request.unit === "" ? undefined : request.unit,
      isExclusive: !isPlace && isExclusive,
      requires: isPlace
        ? []
        : requires.map((requirement) => ({
            number: requirements++,
            requirement,
            test: testOf(requirement),
          })),
      inside,
      types: [],
    };
    needs.push(need);
    if (slot === undefined && (request.isSlot || isPlace)) slot = { need, count: 1 };
    const inherited = { ...request, requires, isExclusive };
    request.with.forEach((inner, index) => {
      const from = { number, slot: isPlace ? inherited : undefined };
      const part = compile(inner, from, `${at}.with[${index}]`, depth + 1);
      inside.push(part);
      for (const type of part.types) types.add(type);
    });
    need.types = [...types];
    return need;
  };
  const from = { number: -1, slot: undefined };
  const compiled = trees.map((tree, at) => compile(tree, from, `${field}[${at}]`, 1));
  const [first] = compiled;
  if (slot === undefined && first !== undefined) slot = { need: first, count: first.count };
  return { needs, trees: compiled, requirements, slot };
}

function check(request: ResourceRequest, field: string, depth: number, before: number): void {
  if (depth > limits.requestDepthMax) {
    throw invalid(field, `is nested more than ${limits.requestDepthMax} deep`);
  }
  if (before >= limits.requestVerticesMax) {
    throw invalid(
      field,
      `a job may request at most ${limits.requestVerticesMax} kinds of resources`,
    );
  }
  if (request.type === "") throw invalid(`${field}.type`, "must not be empty");
  if (!(request.count > 0 && request.count <= Number.MAX_SAFE_INTEGER)) {
    throw invalid(`${field}.count`, `must be more than 0, not ${request.count}`);
  }
  const isContainer = request.with.length > 0 || request.type === SLOT;
  if (isContainer && !Number.isInteger(request.count)) {
    throw invalid(`${field}.count`, `must be a whole number, not ${request.count}`);
  }
  if (request.type === SLOT && request.with.length === 0) {
    throw invalid(`${field}.with`, "a slot must hold something");
  }
  if (request.requires.length > limits.requirementsMax) {
    throw invalid(`${field}.requires`, `at most ${limits.requirementsMax} requirements`);
  }
}
