import type { Condition, Requirement } from "../../core/graph/request/request.ts";
import { type AppError, invalid } from "../../lib/errors.ts";
import { collecting } from "../single-flags.ts";

/**
 * "spack:name=ior,version>=3.3": a requirement on one entry of a node's subsystem. Several are collected, and a node must meet every one.
 */
export const requirement = (flag: string) =>
  collecting((text: string, sofar: readonly Requirement[] = []): readonly Requirement[] => {
    const at = text.indexOf(":");
    const subsystem = text.slice(0, at).trim();
    if (at === -1 || subsystem === "" || text.slice(at + 1).trim() === "") {
      throw invalid(
        flag,
        `"${text}" is not of the form subsystem:field=value, like os:name=debian`,
      );
    }
    return [...sofar, { subsystem, conditions: readConditions(text.slice(at + 1), flag) }];
  });

type Part = { readonly field: string; readonly sign: string | undefined; readonly value: string };

/** Bounds on one field are one condition, in any order. */
function readConditions(text: string, flag: string): readonly Condition[] {
  const byField = new Map<string, Condition>();
  for (const part of text.split(",").map((each) => readPart(each.trim(), flag))) {
    const { field } = part;
    byField.set(
      field,
      join(byField.get(field), part, () => twice(flag, part)),
    );
  }
  return [...byField.values()];
}

function readPart(text: string, flag: string): Part {
  const [, field, sign, value = ""] = /^([^=<>!|\s]+)\s*(>=|<=|=)?\s*(.*)$/.exec(text) ?? [];
  const isRight = sign === undefined ? value === "" : value !== "" && !/[<>]/.test(value);
  if (field === undefined || !isRight) {
    const forms = "field, field=value, field=a|b, version>=1.2 or version<=2";
    throw invalid(flag, `"${text}" is not a condition; write ${forms}, several with commas`);
  }
  return { field, sign, value };
}

function join(before: Condition | undefined, part: Part, twice: () => AppError): Condition {
  const { field, sign, value } = part;
  const bounds = before?.kind === "version" ? before : undefined;
  if (before !== undefined && bounds === undefined) throw twice();
  if (sign === ">=" && bounds?.min === undefined) {
    return { kind: "version", field, min: value, max: bounds?.max };
  }
  if (sign === "<=" && bounds?.max === undefined) {
    return { kind: "version", field, min: bounds?.min, max: value };
  }
  if (bounds !== undefined) throw twice();
  if (sign === undefined) return { kind: "present", field };
  return { kind: "one-of", field, values: value.split("|").map((each) => each.trim()) };
}

const twice = (flag: string, { field }: Part): AppError =>
  invalid(
    flag,
    `names ${field} twice; for one of several values write ${field}=a|b, ` +
      `for a range ${field}>=1,${field}<=2`,
  );
