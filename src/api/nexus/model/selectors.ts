import { invalid } from "../../../lib/errors.ts";
import type { NexusKind } from "./kinds.ts";
import { DISPLAY_NAME, namedKinds, type Path } from "./names.ts";
import type { Texts } from "../../../core/model/job/job.ts";
import type { NexusObject } from "./object.ts";

type Test = (object: NexusObject) => boolean;

/** The objects that a caller selects. Two selectors with the same key select the same. */
export interface Selector {
  readonly key: string;
  readonly isAll: boolean;
  /** Labels that must have one value: lists use them as an index. */
  readonly equal: Texts;
  /** The required name, hashed or not; undefined: any. */
  readonly name: string | undefined;
  /** Whether a change of status can make objects match, or no longer match. */
  readonly isOfStatus: boolean;
  fits(object: NexusObject): boolean;
}

const LENGTH_MAX = 4_096;
const TERMS_MAX = 64;

export function toSelector(labels: string | undefined, fields: string | undefined): Selector {
  const equal: Record<string, string> = {};
  const tests: Test[] = [];
  for (const term of termsOf(labels, "labelSelector")) tests.push(labelTest(term, equal));
  let name: string | undefined;
  let isOfStatus = false;
  for (const term of termsOf(fields, "fieldSelector")) {
    const { test, name: wanted } = fieldTest(term);
    name = wanted ?? name;
    isOfStatus ||= term.startsWith("status.");
    tests.push(test);
  }
  return {
    key: JSON.stringify([labels ?? "", fields ?? ""]),
    isAll: tests.length === 0,
    equal,
    name,
    isOfStatus,
    fits: (object) => tests.every((test) => test(object)),
  };
}

/** The same for the children of parents with these names: root first, without singletons. */
export function below(selector: Selector, kind: NexusKind, parents: Path): Selector {
  const labels = namedKinds(kind)
    .slice(0, parents.length)
    .map(({ crd }, at) => [crd, parents[at] ?? ""] as const);
  if (labels.length === 0) return selector;
  return {
    key: JSON.stringify([selector.key, labels]),
    isAll: false,
    equal: { ...selector.equal, ...Object.fromEntries(labels) },
    name: selector.name,
    isOfStatus: selector.isOfStatus,
    fits: (object) =>
      labels.every(([crd, name]) => object.metadata.labels[crd] === name) && selector.fits(object),
  };
}

/** Split at commas outside of parentheses. */
function termsOf(text: string | undefined, field: string): readonly string[] {
  if (text === undefined || text.trim() === "") return [];
  if (text.length > LENGTH_MAX) throw invalid(field, `at most ${LENGTH_MAX} characters`);
  const terms = text.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? [];
  if (terms.length > TERMS_MAX) throw invalid(field, `at most ${TERMS_MAX} terms`);
  return terms.map((term) => term.trim()).filter((term) => term !== "");
}

const KEY = "[^\\s=!,()]+";
const EQUALS = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*([^\\s=!,()]*)$`);
const AMONG = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);

function labelTest(term: string, equal: Record<string, string>): Test {
  const [, left = "", operator, right = ""] = EQUALS.exec(term) ?? [];
  if (operator !== undefined) {
    if (operator === "!=") return ({ metadata }) => metadata.labels[left] !== right;
    equal[left] = right;
    return ({ metadata }) => metadata.labels[left] === right;
  }
  const [, key = "", word, list = ""] = AMONG.exec(term) ?? [];
  if (word !== undefined) {
    const values = new Set(list.split(",").map((value) => value.trim()));
    return word === "in"
      ? ({ metadata }) => values.has(metadata.labels[key] ?? NOTHING)
      : ({ metadata }) => !values.has(metadata.labels[key] ?? NOTHING);
  }
  const [, not, label = ""] = EXISTS.exec(term) ?? [];
  if (not === undefined) {
    throw invalid(
      "labelSelector",
      `${JSON.stringify(term)} is not like a=b, a!=b, a in (b,c) or a`,
    );
  }
  return ({ metadata }) => (metadata.labels[label] !== undefined) === (not === "");
}

/** Not a valid label value. */
const NOTHING = "\0";

function fieldTest(term: string): { readonly test: Test; readonly name?: string } {
  const [, path = "", operator, value = ""] = /^([^=!]+?)\s*(==|=|!=)\s*(.*)$/.exec(term) ?? [];
  if (operator === undefined || !/^(metadata|spec|status)\./.test(path)) {
    const right = "metadata.name=…, or another field of metadata, spec or status";
    throw invalid("fieldSelector", `${JSON.stringify(term)} is not like ${right}`);
  }
  const isNot = operator === "!=";
  if (path === "metadata.name" && !isNot) {
    return { test: (object) => isNamed(object, value), name: value };
  }
  return { test: (object) => (textAt(object, path) === value) !== isNot };
}

/** People may use the name that they chose. */
export const isNamed = ({ metadata }: NexusObject, name: string): boolean =>
  metadata.name === name || metadata.labels[DISPLAY_NAME] === name;

/** An absent field is an empty text, as in Kubernetes. */
function textAt(object: NexusObject, path: string): string {
  let at: unknown = object;
  for (const step of path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return "";
    at = (at as Record<string, unknown>)[step];
  }
  return typeof at === "string" || typeof at === "number" ? String(at) : "";
}
