import { hash } from "node:crypto";
import type { Texts } from "../../../core/model/job/job.ts";
import { VERSION, type NexusKind } from "./kinds.ts";
import { hashName, treeLabels, type Path } from "./names.ts";

/** Values that only clients of this door set on an object: no other part of Busbar reads them. */
export interface Notes {
  readonly labels: Texts;
  readonly annotations: Texts;
  readonly revision: number;
}

export interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly creationTimestamp: string;
  readonly labels: Texts;
  readonly annotations?: Texts;
}

/** An object of the tree, in the JSON of the wire. */
export interface NexusObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: object;
  readonly status: { readonly state?: object; readonly nexus: typeof NEXUS };
}

/** Clients always send and expect these zeros. */
const NEXUS = {
  sourceGeneration: 0,
  remoteGeneration: 0,
  syncerStatus: { etcdVersion: 0, cRGenerationId: 0 },
};

export interface ObjectParts {
  readonly path: Path;
  /** Differs between two objects of the same name: the uid is made from it. */
  readonly identity?: string;
  readonly createdMs: number;
  /** The revision of the row that changed last. */
  readonly revision: number;
  readonly labels?: Texts;
  readonly notes?: Notes | undefined;
  readonly spec?: object;
  readonly state?: object;
}

export function makeObject(kind: NexusKind, parts: ObjectParts): NexusObject {
  const { path, createdMs, notes, spec, state } = parts;
  const revision = Math.max(parts.revision, notes?.revision ?? 0);
  const annotations = notes?.annotations ?? {};
  return {
    apiVersion: `${kind.group}/${VERSION}`,
    kind: kind.kind,
    metadata: {
      name: hashName(kind, path),
      uid: uidOf(`${kind.crd}/${path.join("/")}/${parts.identity ?? ""}`),
      resourceVersion: String(revision),
      generation: 1,
      creationTimestamp: timestamp(createdMs),
      labels: { ...parts.labels, ...notes?.labels, ...treeLabels(kind, path) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    ...(kind.hasSpec ? { spec: spec ?? {} } : {}),
    status: { ...(state === undefined ? {} : { state }), nexus: NEXUS },
  };
}

/** With a precision of seconds, as on the wire. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -5)}Z`;

export const toSeconds = (ms: number | undefined): number =>
  ms === undefined ? 0 : Math.floor(ms / 1_000);

const UINT32_MAX = 2 ** 32 - 1;

/** Old clients reject a document whose number does not fit: larger numbers are shown as the maximum. */
export const uint32 = (value: number): number =>
  Math.min(UINT32_MAX, Math.max(0, Math.floor(value)));

/** Deterministic: the object itself is not stored. */
function uidOf(identity: string): string {
  const hex = hash("sha1", identity);
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `${variant}${hex.slice(18, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
