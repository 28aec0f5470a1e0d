import { parseYamlTree } from "../../../lib/yaml/yaml-tree.ts";
import { limits } from "../../../limits.ts";
import type { Jobspec } from "../model.ts";
import { createProblems, type Problem, toError } from "./problems.ts";
import { readExperimental, readFluxV1 } from "./read-flux.ts";
import { readNextgen } from "./read-nextgen.ts";
import { reportProblem, descend, type Place, rootPlace } from "./reader.ts";
import { resolve } from "../resolve.ts";

/** A jobspec, or its problems (`problems` are the first of `count`). */
export type CheckedJobspec =
  | { readonly kind: "valid"; readonly jobspec: Jobspec }
  | { readonly kind: "invalid"; readonly problems: readonly Problem[]; readonly count: number };

export interface JobspecTerms {
  /** Accept a document of resources alone, without tasks. */
  readonly mayLackTasks?: boolean;
}

/** Reads the text of a jobspec in any dialect, YAML or JSON, and validates it. Never throws. */
export function checkJobspec(text: string, terms: JobspecTerms = {}): CheckedJobspec {
  const parsed = parseYamlTree(text, {
    charsMax: limits.jobspecCharsMax,
    depthMax: limits.jobspecDepthMax,
    valuesMax: limits.jobspecValuesMax,
  });
  if (parsed.kind === "broken") {
    const { at, message } = parsed;
    return { kind: "invalid", problems: [{ at, field: "", message }], count: 1 };
  }
  const problems = createProblems(limits.jobspecProblemsShownMax);
  const jobspec = read(rootPlace(parsed.tree, problems), terms);
  return problems.count === 0 && jobspec !== undefined
    ? { kind: "valid", jobspec }
    : { kind: "invalid", problems: problems.list(), count: problems.count };
}

/** The same, but throws an AppError that lists the problems. */
export function parseJobspec(text: string, terms: JobspecTerms = {}): Jobspec {
  const checked = checkJobspec(text, terms);
  if (checked.kind === "valid") return checked.jobspec;
  throw toError(checked.problems, checked.count);
}

/** The dialects share their version number, so their structure has to distinguish them. */
function read(place: Place, terms: JobspecTerms): Jobspec | undefined {
  if (place.tree.kind !== "map") return reportProblem(place, "must be a map of keys and values");
  checkVersion(place);
  if (descend(place, "task") !== undefined) return resolve(readExperimental(place));
  const isFlux = descend(place, "resources")?.tree.kind === "list";
  return resolve(isFlux ? readFluxV1(place) : readNextgen(place, terms));
}

function checkVersion(place: Place): void {
  const version = descend(place, "version");
  if (version === undefined) reportProblem(place, 'needs "version: 1"');
  else if (version.tree.kind !== "scalar" || version.tree.value !== 1) {
    const written = version.tree.kind === "scalar" ? version.tree.value : undefined;
    reportProblem(
      version,
      `must be 1, not ${written === undefined ? "that" : JSON.stringify(written)}`,
    );
  }
}
