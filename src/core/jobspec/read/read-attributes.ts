import { AppError } from "../../../lib/errors.ts";
import { parseDurationMs } from "../../../lib/units.ts";
import { limits } from "../../../limits.ts";
import { type Attributes, NO_ATTRIBUTES, type Plain } from "../model.ts";
import {
  reportProblem,
  entriesOf,
  fieldsOf,
  flagOf,
  isMap,
  numberOf,
  type Place,
  plainOf,
  quote,
  textOf,
} from "./reader.ts";

const OWN = ["duration", "cwd", "environment"] as const;
/** Passed on, without effect in Busbar. */
const KEPT = ["watch", "parameter", "user"] as const;
/** Attributes that Flux itself writes into `system`. */
const KEPT_OF_SYSTEM = [
  "job",
  "queue",
  "bank",
  "project",
  "shell",
  "files",
  "exec",
  "batch",
] as const;

const HINTS = { env: 'did you mean "environment"?' };
const HINTS_OF_SYSTEM = {
  ...HINTS,
  dependencies: "ids of Flux jobs are not known outside of Flux; write depends_on",
  constraints: "write requires",
};

/** For maps in which people often write attributes directly. */
export const ATTRIBUTE_HINTS: Readonly<Record<string, string>> = Object.fromEntries(
  [...OWN, "watch"].map((key) => [key, "write it under attributes"]),
);

/** `duration`, `cwd` and `environment` may be inside `system`, as in Flux, or above it. */
export function readAttributes(place: Place | undefined): Attributes {
  if (place === undefined) return NO_ATTRIBUTES;
  const fields = fieldsOf(place, [...OWN, ...KEPT, "system"], HINTS);
  const inSystem = fields.get("system");
  const system =
    inSystem === undefined
      ? new Map<never, never>()
      : fieldsOf(inSystem, [...OWN, ...KEPT_OF_SYSTEM], HINTS_OF_SYSTEM);
  const find = (key: (typeof OWN)[number]): Place | undefined => {
    const [outer, inner] = [fields.get(key), system.get(key)];
    if (outer !== undefined && inner !== undefined) {
      reportProblem(inner, `${key} is given here and outside of system`);
    }
    return outer ?? inner;
  };
  const [duration, cwd, environment] = [find("duration"), find("cwd"), find("environment")];
  return {
    durationMs: duration === undefined ? undefined : readDuration(duration),
    cwd: cwd === undefined ? undefined : readCwd(cwd),
    environment: environment === undefined ? {} : readEnvironment(environment),
    extras: readExtras(fields, system),
  };
}

function readExtras(
  fields: ReadonlyMap<string, Place>,
  system: ReadonlyMap<string, Place>,
): Readonly<Record<string, Plain>> {
  const watch = fields.get("watch");
  if (watch !== undefined) flagOf(watch);
  const kept = KEPT.flatMap((key): [string, Plain][] => {
    const value = fields.get(key);
    return value === undefined ? [] : [[key, plainOf(value)]];
  });
  const ofSystem = KEPT_OF_SYSTEM.flatMap((key): [string, Plain][] => {
    const value = system.get(key);
    return value === undefined ? [] : [[key, plainOf(value)]];
  });
  if (ofSystem.length > 0) kept.push(["system", Object.fromEntries(ofSystem)]);
  return Object.fromEntries(kept);
}

/** A number is seconds, as in Flux; a text has units. */
function readDuration(place: Place): number | undefined {
  const { tree } = place;
  if (tree.kind === "scalar" && typeof tree.value === "string") {
    try {
      return within(place, parseDurationMs(tree.value, ""));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return reportProblem(place, error.problem);
    }
  }
  const seconds = numberOf(place);
  if (seconds === undefined) return undefined;
  if (seconds < 0) return reportProblem(place, `must be 0 or more, not ${seconds}`);
  return within(place, Math.round(seconds * 1_000));
}

const within = (place: Place, ms: number): number | undefined =>
  ms <= limits.durationMsMax ? ms : reportProblem(place, "is longer than 366 days");

function readCwd(place: Place): string | undefined {
  const text = textOf(place);
  return text === "" ? reportProblem(place, "is empty") : text;
}

function readEnvironment(place: Place): Readonly<Record<string, string>> {
  if (isMap(place) && entriesOf(place).length > limits.envVariablesMax) {
    reportProblem(place, `at most ${limits.envVariablesMax} variables`);
    return {};
  }
  return Object.fromEntries(
    entriesOf(place).flatMap(([name, value]): [string, string][] => {
      if (name === "" || name.includes("=") || name.includes("\0")) {
        reportProblem(value, `${quote(name)} is not a variable's name`);
      }
      const text = textOf(value);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}
