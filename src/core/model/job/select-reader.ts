import { insideField, invalid, ofDocument, unprocessable } from "../../../lib/errors.ts";
import { isDeeperJson, isLongerJson } from "../../../lib/bytes/json-size.ts";
import type { MessageRules } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import { readValues, VALUES_RULE } from "../../graph/cluster-state.ts";
import { isRecord } from "../../graph/metadata.ts";
import { strategyByName, strategyNames } from "../../select/all.ts";
import type { SelectTerms } from "./job.ts";

export interface SelectInput {
  readonly strategy?: string | undefined;
  readonly options?: unknown;
  readonly parameters?: unknown;
}

type Options = Readonly<Record<string, unknown>>;

const NO_OPTIONS: Options = Object.freeze({});

/**
 * Reads the cluster selections of the jobs of one submission. Options may contain a YAML text, which
 * the deciding thread parses: equal options are parsed once, and the total of different ones is
 * bounded.
 */
export class SelectReader {
  readonly #known = new Map<string, Options>();
  #charsLeft: number = limits.selectCharsPerSubmissionMax;

  read(select: SelectInput): SelectTerms {
    const { strategy } = select;
    checkSelectSize(select, "select");
    const given = toOptions(select.options);
    const parameters = readValues(select.parameters ?? NO_OPTIONS, "select.parameters");
    if (given !== NO_OPTIONS) checkHasStrategy(select, "select");
    const options = strategy === undefined ? given : this.#check(strategy, given);
    return { strategy, options, parameters };
  }

  /** Returns the earlier object for equal options. */
  #check(strategy: string, given: Options): Options {
    const text = JSON.stringify(given);
    const key = `${strategy} ${text}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#charsLeft -= text.length;
    if (this.#charsLeft < 0) {
      const max = limits.selectCharsPerSubmissionMax;
      const problem = `different options of all jobs in one submission have at most ${max} characters`;
      throw unprocessable("select.options", `${problem}; submit fewer jobs at once`);
    }
    prepare(strategy, given);
    this.#known.set(key, given);
    return given;
  }
}

function prepare(strategy: string, options: Options): void {
  const found = strategyByName(strategy);
  try {
    found.prepare(options);
  } catch (error) {
    throw ofDocument(insideField(error, "select"));
  }
}

/** Before anything of it is parsed: options may contain a text that is slow to parse. */
export function checkSelectSize({ options, parameters }: SelectInput, field: string): void {
  if (isEmpty(options) && isEmpty(parameters)) return;
  const { selectOptionsDepthMax: depthMax, selectCharsMax: charsMax } = limits;
  for (const [name, value] of Object.entries({ options, parameters })) {
    if (!isDeeperJson(value, depthMax)) continue;
    throw unprocessable(`${field}.${name}`, `has at most ${depthMax} levels of nesting`);
  }
  if (!isLongerJson([options, parameters], charsMax)) return;
  throw unprocessable(field, `options and parameters have at most ${charsMax} characters`);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined) return true;
  if (!isRecord(value)) return false;
  for (const _ in value) return false;
  return true;
}

/** For the selection of one of several clusters. */
export const SELECTION_RULES: MessageRules = {
  fields: {
    strategy: { enum: strategyNames },
    options: { type: "object" },
    parameters: VALUES_RULE,
  },
  together: { options: ["strategy"] },
};

export function checkHasStrategy({ strategy }: SelectInput, field: string): void {
  if (strategy !== undefined) return;
  throw invalid(`${field}.options`, `belong to a strategy: name it in ${field}.strategy`);
}

function toOptions(options: unknown): Options {
  if (options === undefined) return NO_OPTIONS;
  if (!isRecord(options)) throw invalid("select.options", "must be an object");
  return options;
}
