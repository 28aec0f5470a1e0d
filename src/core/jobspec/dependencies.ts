import { limits } from "../../limits.ts";
import type { Placed } from "./place-groups.ts";
import { reportProblem, type Place, quote, suggest } from "./read/reader.ts";

/** The names visible from one place: sibling tasks and groups. */
export type DependencyScope = ReadonlyMap<string, Placed>;

/**
 * Finds the dependencies of an item: among its siblings, else among the siblings of its group, and
 * so on outwards. Tasks inside another group cannot be named: depend on the group instead.
 */
export function resolveDependencies(
  item: Placed,
  scopes: readonly DependencyScope[],
): readonly string[] {
  const paths = new Set<string>();
  for (const { name, place } of item.dependsOn) {
    const found = scopes.map((scope) => scope.get(name)).find((each) => each !== undefined);
    if (found === undefined) reportProblem(place, unknown(place, name, scopes));
    else if (found === item) reportProblem(place, `${quote(name)} cannot depend on itself`);
    else if (item.path.startsWith(`${found.path}/`)) {
      reportProblem(
        place,
        `${quote(name)} is the group that contains this task; it would wait for itself`,
      );
    } else paths.add(found.path);
  }
  return [...paths];
}

function unknown(place: Place, name: string, scopes: readonly DependencyScope[]): string {
  if (place.problems.count >= limits.jobspecProblemsShownMax) return `there is no ${quote(name)}`;
  const outermost = scopes.at(-1);
  const elsewhere = [...(outermost?.values() ?? [])].map((each) => findInside(each, name));
  const hidden = elsewhere.find((each) => each !== undefined);
  if (hidden !== undefined) {
    const group = quote(hidden.split("/").at(-2) ?? "");
    return `${quote(name)} is inside group ${group} and not visible here; depend on the group`;
  }
  const visible = [...new Set(scopes.flatMap((scope) => [...scope.keys()]))];
  return `there is no task or group named ${quote(name)}${suggest(place, name, visible)}`;
}

function findInside({ children }: Placed, name: string): string | undefined {
  for (const each of children) {
    const found = each.name === name ? each.path : findInside(each, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
