import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { type Members, members } from "../http/body.ts";
import { specFields, statusFields, unknownFields } from "../model/fields.ts";
import { apiVersionOf, type NexusKind, type Served } from "../model/kinds.ts";
import {
  DEFAULT,
  DISPLAY_NAME,
  hashName,
  isHashed,
  isTreeLabel,
  namedKinds,
  type Path,
  pathOf,
  treeLabels,
} from "../model/names.ts";
import type { Texts } from "../../../core/model/job/job.ts";

/** An object as a client sent it. */
export interface Received {
  readonly name: string;
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly resourceVersion: string | undefined;
  readonly uid: string | undefined;
  readonly spec: Members;
  readonly state: Members;
  /** Fields that the model does not have. */
  readonly unknown: readonly string[];
}

export function readObject({ kind, group }: Served, body: unknown): Received {
  const object = members(body, "body");
  const said = object["kind"];
  // Old clients write the plural in lower case when they write a status.
  if (said !== undefined && said !== "" && said !== kind.kind && said !== kind.plural) {
    throw invalid("kind", `must be ${kind.kind} here`);
  }
  const version = object["apiVersion"];
  if (typeof version === "string" && version !== "" && version !== apiVersionOf({ kind, group })) {
    throw invalid("apiVersion", `must be ${apiVersionOf({ kind, group })} here`);
  }
  const metadata = members(object["metadata"] ?? {}, "metadata");
  const spec = members(object["spec"] ?? {}, "spec");
  const status = members(object["status"] ?? {}, "status");
  return {
    name: nameIn(metadata),
    labels: textsIn(metadata, "labels"),
    annotations: textsIn(metadata, "annotations"),
    resourceVersion: textIn(metadata, "resourceVersion") || undefined,
    uid: textIn(metadata, "uid") || undefined,
    spec,
    state: members(status["state"] ?? {}, "status.state"),
    unknown: [
      ...Object.keys(object).filter((name) => !TOP.has(name)),
      ...unknownFields(spec, specFields(kind), "spec"),
      ...unknownFields(status, statusFields(kind), "status"),
    ],
  };
}

const TOP: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "spec", "status"]);

function textIn(from: Members, name: string): string | undefined {
  const value = from[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw invalid(`metadata.${name}`, "must be a text");
}

function textsIn(from: Members, name: string): Texts {
  const texts = members(from[name] ?? {}, `metadata.${name}`);
  for (const [key, value] of Object.entries(texts)) {
    if (typeof value !== "string") throw invalid(`metadata.${name}.${key}`, "must be a text");
  }
  return texts as Texts;
}

function nameIn(metadata: Members): string {
  const name = textIn(metadata, "name") ?? "";
  if (name === "" && textIn(metadata, "generateName")) {
    throw invalid("metadata.generateName", "is not supported; give metadata.name");
  }
  return name;
}

/** Non-empty, in a spec. */
export function textOfSpec(spec: Members, name: string): string {
  const value = spec[name];
  if (typeof value === "string" && value !== "") return value;
  throw invalid(
    `spec.${name}`,
    value === undefined || value === "" ? "is missing" : "must be a text",
  );
}

export const UINT32_MAX = 2 ** 32 - 1;

/** An integer from 0; absent: 0. */
export function countIn(from: Members, name: string, field: string, max: number): number {
  const value = from[name] ?? 0;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max) {
    return value;
  }
  throw invalid(`${field}.${name}`, `must be a whole number from 0 to ${max}`);
}

/** Its place: clients hash the name themselves, or leave that to us. */
export function placeOf(kind: NexusKind, { name, labels }: Received): Path {
  if (name === "") throw invalid("metadata.name", "is missing");
  if (kind.isSingleton) {
    if (name === DEFAULT || name === hashName(kind, [])) return [];
    throw invalid("metadata.name", `there is one ${kind.kind}, called "default"`);
  }
  const display = labels[DISPLAY_NAME] ?? (isHashed(name) ? undefined : name);
  if (display === undefined) {
    throw invalid(
      "metadata.name",
      `looks like a hash; give the name itself, or label ${DISPLAY_NAME}`,
    );
  }
  const path = pathOf(kind, display, labels);
  for (const [at, part] of path.entries()) checkPart(part, namedKinds(kind)[at] ?? kind, kind);
  if (isHashed(name) && name !== hashName(kind, path)) {
    throw invalid("metadata.name", "is not the hash of the names in its labels");
  }
  return path;
}

/** A part of a path is the object's own name, or that of a parent from a label. */
function checkPart(name: string, of: NexusKind, kind: NexusKind): void {
  if (name.length <= limits.nameLengthMax && /^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$/.test(name))
    return;
  const shown = JSON.stringify(name.slice(0, 40));
  const field = of === kind ? "metadata.name" : `metadata.labels.${of.crd}`;
  throw invalid(field, `${shown} is not a name of letters, digits, ".", "_" and "-"`);
}

/** The client's own labels. Labels of the tree must be unchanged. */
export function ownLabels(kind: NexusKind, path: Path, labels: Texts): Texts {
  const given = treeLabels(kind, path);
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(labels)) {
    if (!isTreeLabel(kind, name)) own[name] = value;
    else if (given[name] !== value) {
      throw new AppError("unschedulable", `is given by where it is, and stays ${given[name]}`, {
        field: `metadata.labels.${name}`,
      });
    }
  }
  return own;
}

/** Rejects unknown fields, or warns about them, as the client requests. */
export function checkUnknown({ unknown }: Received, query: URLSearchParams): readonly string[] {
  const asked = query.get("fieldValidation") ?? "Ignore";
  if (unknown.length === 0 || asked === "Ignore") return [];
  const list = unknown.slice(0, 10).map((field) => `unknown field "${field}"`);
  if (asked === "Warn") return list;
  throw new AppError("invalid_argument", `strict decoding error: ${list.join(", ")}`);
}
