import type { ResourceRequest } from "../../graph/request/request.ts";
import type { NamedResource } from "../model.ts";
import { ATTRIBUTE_HINTS, readAttributes } from "./read-attributes.ts";
import { readRequirements } from "./read-requires.ts";
import {
  reportProblem,
  countOf,
  entriesOf,
  fieldsOf,
  flagOf,
  isMap,
  itemsOf,
  type Place,
  textOf,
} from "./reader.ts";

const VERTEX_KEYS = [
  "type",
  "count",
  "replicas",
  "unit",
  "label",
  "exclusive",
  "requires",
  "with",
  "attributes",
] as const;
const TOP_KEYS = [...VERTEX_KEYS, "schedule", "scheduled"] as const;

const ONLY_AT_TOP = "it applies to the whole resource; write it at the top of the resource";
const VERTEX_HINTS = { schedule: ONLY_AT_TOP, scheduled: ONLY_AT_TOP };

/** Published examples write the plural; every graph has the singular. */
const SINGULAR: ReadonlyMap<string, string> = new Map(
  ["core", "gpu", "node", "rack", "slot", "socket"].map((type) => [`${type}s`, type]),
);

/** One resource of `resources`, or one that is written where it is used. */
export function readResource(place: Place): NamedResource | undefined {
  const fields = fieldsOf(place, TOP_KEYS, ATTRIBUTE_HINTS);
  const attributes = readAttributes(fields.get("attributes"));
  const marked = fields.get("schedule") ?? fields.get("scheduled");
  const isScheduled = (marked === undefined ? undefined : flagOf(marked)) ?? false;
  const request = toRequest(place, fields, false);
  return request === undefined ? undefined : { at: place.at, request, attributes, isScheduled };
}

function readVertex(place: Place, isInSlot: boolean): ResourceRequest | undefined {
  const fields = fieldsOf(place, VERTEX_KEYS, { ...ATTRIBUTE_HINTS, ...VERTEX_HINTS });
  const attributes = fields.get("attributes");
  // Go programs write empty structs: every vertex of theirs has "attributes: {}".
  if (attributes !== undefined && entriesOf(attributes).length > 0) {
    reportProblem(attributes, ONLY_AT_TOP);
  }
  return toRequest(place, fields, isInSlot);
}

function toRequest(
  place: Place,
  fields: ReadonlyMap<string, Place>,
  isInSlot: boolean,
): ResourceRequest | undefined {
  if (!isMap(place)) return undefined;
  const text = (key: string): string | undefined => {
    const at = fields.get(key);
    return at === undefined ? undefined : textOf(at);
  };
  const written = text("type");
  if (!fields.has("type")) reportProblem(place, 'needs "type", like node, core or gpu');
  if (written === "") reportProblem(place, "type is empty");
  const [counted, copied] = [fields.get("count"), fields.get("replicas")];
  if (counted !== undefined && copied !== undefined) {
    reportProblem(
      copied,
      "write either count or replicas, not both: replicas makes it a slot, which may be on any node",
    );
  }
  const type = SINGULAR.get(written ?? "") ?? written ?? "";
  const isSlot = type === "slot" || copied !== undefined;
  if (isSlot && isInSlot) reportProblem(place, "a slot cannot be inside a slot");
  const amount = copied ?? counted;
  if (amount === undefined) reportProblem(place, 'needs "count" (or, as a slot, "replicas")');
  const count = amount === undefined ? undefined : countOf(amount);
  const exclusive = fields.get("exclusive");
  const requires = fields.get("requires");
  return {
    type,
    count: count ?? 1,
    unit: text("unit"),
    isSlot,
    isExclusive: (exclusive === undefined ? undefined : flagOf(exclusive)) ?? false,
    label: text("label"),
    requires: requires === undefined ? [] : readRequirements(requires),
    with: readWith(fields.get("with"), isInSlot || isSlot),
  };
}

/** A list; some documentation shows a single item without a list. */
function readWith(place: Place | undefined, isInSlot: boolean): readonly ResourceRequest[] {
  if (place === undefined) return [];
  const items = isMap(place) ? [place] : itemsOf(place);
  if (items.length === 0 && place.tree.kind === "list") reportProblem(place, "is empty");
  return items.flatMap((item) => {
    const request = readVertex(item, isInSlot);
    return request === undefined ? [] : [request];
  });
}
