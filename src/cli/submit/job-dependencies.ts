import type { Command } from "commander";
import type { JobSubmissionInit } from "../../client/messages.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { notEmpty, wholeNumber } from "../flags.ts";
import type { Value } from "../yaml/yaml-value.ts";
import { collecting } from "../single-flags.ts";

type Spec = Exclude<NonNullable<JobSubmissionInit["spec"]>, { $typeName: string }>;
export type Dependencies = NonNullable<Spec["dependsOn"]>;
type Dependency = Exclude<Dependencies[number], { $typeName: string }>;

export interface DependencyFlags {
  readonly afterOk?: readonly string[];
  readonly afterAny?: readonly string[];
  readonly afterNotOk?: readonly string[];
  readonly after?: readonly string[];
  readonly afterAtLeast?: number;
  readonly singleton?: string;
}

const LEAST = { min: 1, max: limits.dependenciesPerJobMax } as const;

export function addDependencyFlags(command: Command): void {
  command
    .optionsGroup("When to run:")
    .option("--after-ok <jobs>", AFTER("have succeeded"), jobs("--after-ok"))
    .option("--after-any <jobs>", AFTER("have ended in any way"), jobs("--after-any"))
    .option("--after-not-ok <jobs>", AFTER("have ended without success"), jobs("--after-not-ok"))
    .option("--after <jobs>", AFTER("have started"), jobs("--after"))
    .option(
      "--after-at-least <n>",
      "start when n of these jobs meet it (default: all)",
      wholeNumber("--after-at-least", LEAST),
    )
    .option(
      "--singleton <name>",
      "start when all earlier jobs with this singleton have ended",
      notEmpty("--singleton"),
    );
}

/** Only for commands that do not wait for the job themselves. */
export function addHoldFlag(command: Command): void {
  command
    .optionsGroup("When to run:")
    .option("--hold", "submit it on hold: it starts after busbar release")
    .optionsGroup("Options:");
}

const AFTER = (what: string): string =>
  `start when these jobs, by name or id, ${what}; a,b (repeatable)`;

/** "build,17.3", or the flag several times. */
const jobs = (flag: string) =>
  collecting((text: string, sofar: readonly string[] = []): readonly string[] => [
    ...sofar,
    ...text.split(",").map((name) => notEmpty(flag)(name.trim())),
  ]);

export function dependenciesOf(flags: DependencyFlags): Dependency[] {
  const { afterAtLeast: atLeast, singleton } = flags;
  const lists: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["afterok", flags.afterOk],
    ["afterany", flags.afterAny],
    ["afternotok", flags.afterNotOk],
    ["after", flags.after],
  ];
  const given = lists.flatMap(([kind, on]) =>
    on === undefined ? [] : [{ kind, on: [...on], atLeast }],
  );
  if (atLeast !== undefined && given.length === 0) {
    throw invalid("--after-at-least", "needs jobs to choose from, like --after-ok a,b,c");
  }
  return singleton === undefined ? given : [...given, { kind: "singleton", name: singleton }];
}

export const DEPENDENCY_KEYS = ["afterok", "afterany", "afternotok", "after", "singleton"] as const;

/**
 * In a file: a name, a list of names, or maps like {afterany: [a, b]}, {afterok: [a, b, c], atLeast: 2} and {singleton: x}, alone or in a
 * list. Jobs that are named alone must succeed.
 */
export function readDependencies(value: Value): Dependency[] {
  if (value.kind !== "list") return readLine(value);
  const items = value.list();
  const names = items.filter(({ kind }) => kind === "text").map((item) => item.text());
  const others = items.filter(({ kind }) => kind !== "text");
  const plain = names.length === 0 ? [] : [{ kind: "afterok", on: names }];
  return [...plain, ...others.flatMap(readLine)];
}

function readLine(value: Value): Dependency[] {
  if (value.kind === "text") return [{ kind: "afterok", on: [value.text()] }];
  const fields = value.fields([...DEPENDENCY_KEYS, "atLeast"]);
  const least = fields.get("atLeast");
  const lines = DEPENDENCY_KEYS.flatMap((kind): Dependency[] => {
    const given = fields.get(kind);
    if (given === undefined) return [];
    return kind === "singleton" ? [{ kind, name: given.text() }] : [{ kind, on: readNames(given) }];
  });
  if (lines.length === 0) throw value.fail(`needs one of ${DEPENDENCY_KEYS.join(", ")}`);
  if (least === undefined) return lines;
  const [only] = lines;
  if (lines.length > 1 || only?.kind === "singleton") {
    throw least.fail("belongs to one list of jobs; write each list as an item of its own");
  }
  return [{ ...only, atLeast: wholeNumber(least.at, LEAST)(least.text()) }];
}

const readNames = (value: Value): string[] =>
  value.kind === "text" ? [value.text()] : value.list().map((name) => name.text());
