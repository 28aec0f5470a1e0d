import { invalid } from "../../lib/errors.ts";
import { sortedBy, type Strategy } from "./strategy.ts";

/**
 * Ranks by a number that clusters report; the option `key` names another one. Clusters that do not
 * report it come last, by name.
 */
export function byStateKey(
  name: string,
  usualKey: string,
  order: "smallest-first" | "largest-first",
): Strategy {
  const sign = order === "smallest-first" ? 1 : -1;
  return {
    name,
    prepare({ key = usualKey }) {
      if (typeof key !== "string" || key === "") throw invalid("options.key", "must be a text");
      return (candidates) => ({
        ranked: sortedBy(candidates, ({ state }) => {
          const value = Object.hasOwn(state, key) ? state[key] : undefined;
          return [typeof value === "number" ? sign * value : undefined];
        }),
        dropped: [],
      });
    },
  };
}
