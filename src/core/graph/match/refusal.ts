import { unreachable } from "../../../lib/invariant.ts";
import type { Requirement } from "../request/request.ts";
import { describeRequirement } from "../request/requirement.ts";

/**
 * Why a request does not fit, at the deepest place where it fails.
 *
 * - none: the graph has no vertex of this type.
 * - too-few: the graph has too few of the type.
 * - too-small: no `holder` has as much of the type as the request wants inside one; `found` is
 *   the most.
 * - too-few-large: some holders have enough, but fewer than the request wants.
 * - unmet: too few vertices meet a requirement.
 * - busy: it would fit if the graph were free.
 * - not-together: each part fits alone.
 * - too-complex: the search ran out of budget.
 */
export interface Refusal {
  readonly kind:
    | "none"
    | "too-few"
    | "too-small"
    | "too-few-large"
    | "unmet"
    | "busy"
    | "not-together"
    | "too-complex";
  readonly type: string;
  readonly asked: number;
  readonly found: number;
  readonly holder: string | undefined;
  readonly detail: RefusalDetail;
}

export interface RequestedAmount {
  readonly count: number;
  readonly type: string;
  readonly unit: string | undefined;
}

/** What the search compared: selects the sentence for people. */
export type RefusalDetail =
  | { readonly kind: "absent" }
  | { readonly kind: "few"; readonly unit: string | undefined }
  | { readonly kind: "few-free"; readonly unit: string | undefined }
  /** Requirements that too few vertices meet: one alone, or all together. */
  | {
      readonly kind: "unmet";
      readonly unit: string | undefined;
      readonly requires: readonly Requirement[];
    }
  /** `found` of the holders have `each`. */
  | { readonly kind: "few-have"; readonly each: RequestedAmount; readonly isFree: boolean }
  /** None of so many holders has enough; `isSame`: all have the same amount. */
  | {
      readonly kind: "largest";
      readonly hosts: number;
      readonly isSame: boolean;
      readonly unit: string | undefined;
      readonly isFree: boolean;
    }
  /** Each part fits into enough holders, but not all parts together. */
  | { readonly kind: "few-have-all"; readonly parts: readonly RequestedAmount[] }
  | { readonly kind: "parts-fit-alone"; readonly types: readonly string[] }
  | { readonly kind: "too-complex" };

/** Without duplicates: alternatives often fail for the same reason. */
export const distinctRefusals = (all: readonly Refusal[]): readonly Refusal[] => [
  ...new Map(all.map((refusal) => [JSON.stringify(refusal), refusal])).values(),
];

/** For people. */
export function describeGraphRefusal({ type, asked, found, holder, detail }: Refusal): string {
  const where = holder === undefined ? "" : ` in a ${holder}`;
  const of = (count: number, unit: string | undefined): string => amount({ count, type, unit });
  switch (detail.kind) {
    case "absent":
      return `there is no ${type}${where}`;
    case "few":
      return `${of(found, detail.unit)}${where}, ${number(asked)} requested`;
    case "few-free":
      return `${number(found)} of ${of(asked, detail.unit)} requested are free`;
    case "unmet": {
      const what = detail.requires.map(describeRequirement).join(" and ");
      if (found === 0) return `no ${type} with ${what}`;
      return `${number(found)} of ${of(asked, detail.unit)} requested with ${what}`;
    }
    case "few-have": {
      const have = found === 1 ? "has" : "have";
      const holders = `${number(found)} of ${number(asked)} ${plural(holder ?? "", asked)} requested`;
      return `${holders} ${have} ${amount(detail.each)}${detail.isFree ? " free" : ""}`;
    }
    case "largest": {
      const { hosts, isSame, unit, isFree } = detail;
      const most = `${of(found, unit)}${isFree ? " free" : ""}, ${number(asked)} requested`;
      if (hosts === 1) return `the ${holder} has ${most}`;
      const holders = `${hosts} ${plural(holder ?? "", hosts)}`;
      return isSame ? `${holders} have ${most}` : `the largest of ${holders} has ${most}`;
    }
    case "few-have-all": {
      const parts = detail.parts.map(amount).join(" and ");
      return `too few ${plural(type, 2)} have ${parts} together, ${number(asked)} requested`;
    }
    case "parts-fit-alone": {
      const names = detail.types.join(", ");
      return `each part fits alone, but no way was found to fit all together (${names})`;
    }
    case "too-complex":
      return "the request and the graph are too complex to match: request fewer kinds of resources";
    default:
      return unreachable(detail);
  }
}

const number = (value: number): string => String(Math.round(value * 1_000) / 1_000);
const plural = (type: string, count: number): string =>
  count === 1 || type.endsWith("s") ? type : `${type}s`;

/** "4 cores", "1 node", "16 GiB memory", "200 memory". */
function amount({ count, type, unit }: RequestedAmount): string {
  if (unit !== undefined) return `${number(count)} ${unit} ${type}`;
  return `${number(count)} ${type === "memory" ? type : plural(type, count)}`;
}
