import { AppError } from "../../../lib/errors.ts";
import type { Position } from "../../../lib/yaml/yaml-tree.ts";

/** One problem of a jobspec. */
export interface Problem {
  readonly at: Position;
  /** "tasks[1].resources"; empty for the document itself. */
  readonly field: string;
  readonly message: string;
}

/** Collects problems, so that one request reports all mistakes of a document. */
export interface Problems {
  add(at: Position, field: string, message: string): void;
  /** In the order of the document, and at most as many as are worth reading. */
  list(): readonly Problem[];
  readonly count: number;
}

export function createProblems(shownMax: number): Problems {
  const all: Problem[] = [];
  let count = 0;
  return {
    add(at, field, message) {
      count += 1;
      // The problems of one pass are in order already: keep the first ones.
      if (all.length < shownMax * 10) all.push({ at, field, message });
    },
    list: () => [...all].sort((a, b) => compare(a.at, b.at)).slice(0, shownMax),
    get count() {
      return count;
    },
  };
}

const compare = (a: Position, b: Position): number => a.line - b.line || a.column - b.column;

/** "line 12, column 7: tasks[1].resources: there is no resource named "spak"". */
export function describeProblem({ at, field, message }: Problem): string {
  const where = `line ${at.line}, column ${at.column}: `;
  return where + (field === "" ? message : `${field}: ${message}`);
}

/** One line for each; `field` is that of the first problem. */
export function toError(problems: readonly Problem[], count: number): AppError {
  const [first] = problems;
  const more = count > problems.length ? [`and ${count - problems.length} more`] : [];
  const text = [...problems.map(describeProblem), ...more].join("\n");
  const field = first?.field === "" ? undefined : first?.field;
  return new AppError("unprocessable", text, { field, saysWhere: true });
}
