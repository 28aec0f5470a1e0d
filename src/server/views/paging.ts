import { NAME_PATTERN } from "../../core/model/ids.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import type { Page } from "../operations/operations.ts";

const SIZE_RULE = {
  minimum: 1,
  maximum: limits.pageSizeMax,
  multipleOf: 1,
} as const satisfies Rule;

/** The requested page size, checked. */
export const pageSizeOf = ({ pageSize = limits.pageSizeDefault }: Page): number =>
  checkRule(pageSize, "pageSize", SIZE_RULE);

/** Reads one list page by page. A token is the position to continue from, marked with the list that it belongs to. */
class Pages {
  readonly rules: { readonly pageSize: Rule; readonly pageToken: Rule };
  readonly #mark: string;

  constructor(name: string, place: string) {
    this.#mark = `${name}.`;
    this.rules = {
      pageSize: SIZE_RULE,
      pageToken: {
        maxLength: this.#mark.length + limits.nameLengthMax,
        pattern: `^${name}[.]${place}$`,
        hint: "one from an earlier answer to this call",
      },
    };
  }

  tokenOf(place: string | number): string {
    return `${this.#mark}${place}`;
  }

  placeOf({ pageToken }: Page): string | undefined {
    if (pageToken === undefined) return undefined;
    return checkRule(pageToken, "pageToken", this.rules.pageToken).slice(this.#mark.length);
  }

  numberOf(page: Page): number | undefined {
    const place = this.placeOf(page);
    return place === undefined ? undefined : Number(place);
  }
}

const NUMBER = "[0-9]{1,15}";

export const PAGES = {
  jobs: new Pages("jobs", NUMBER),
  tasks: new Pages("tasks", NUMBER),
  nodes: new Pages("nodes", NAME_PATTERN),
  services: new Pages("services", NAME_PATTERN),
  instances: new Pages("instances", NAME_PATTERN),
} as const;
