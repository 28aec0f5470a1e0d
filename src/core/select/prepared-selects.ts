import { strategyByName } from "./all.ts";
import type { Select } from "./strategy.ts";

type Options = Readonly<Record<string, unknown>>;

/**
 * The strategies of jobs with their options. Options may contain a text of rules, which is slow to
 * parse: each is parsed once for as long as a job has it.
 */
export class PreparedSelects {
  readonly #known = new WeakMap<Options, Map<string, Select>>();

  of(strategy: string, options: Options): Select {
    let byStrategy = this.#known.get(options);
    if (byStrategy === undefined) this.#known.set(options, (byStrategy = new Map()));
    let select = byStrategy.get(strategy);
    if (select === undefined) {
      select = strategyByName(strategy).prepare(options);
      byStrategy.set(strategy, select);
    }
    return select;
  }
}
