import type { Condition, Requirement } from "../../graph/request/request.ts";
import {
  complain,
  entriesOf,
  fieldsOf,
  isList,
  isMap,
  itemsOf,
  numberOf,
  type Place,
  textOf,
} from "./reader.ts";

/**
 * Requirements in either form: a list of {name, field, …}, or a map of subsystems, in which each
 * field may be met by a vertex of its own.
 */
export function readRequirements(place: Place): readonly Requirement[] {
  if (isMap(place)) return entriesOf(place).flatMap(([name, value]) => readSubsystem(name, value));
  return itemsOf(place).flatMap((item) => {
    const requirement = readEntry(item);
    return requirement === undefined ? [] : [requirement];
  });
}

const KEYS = ["name", "field", "match", "value", "min", "max", "attribute"] as const;

/**
 * {name, field}: the field is there. With `match` (or `value`, which published examples write): it
 * is exactly that, or one of several. With `min` and `max`: a version between; with `match` too, both. With `attribute` and
 * `value`: of the same vertex this holds too.
 */
function readEntry(place: Place): Requirement | undefined {
  const fields = fieldsOf(place, KEYS);
  if (!isMap(place)) return undefined;
  const text = (key: (typeof KEYS)[number]): string | undefined => {
    const at = fields.get(key);
    return at === undefined ? undefined : textOf(at);
  };
  for (const key of ["name", "field"] as const) {
    if (!fields.has(key)) complain(place, `needs "${key}"${WHAT[key]}`);
  }
  const [name, field, attribute] = [text("name"), text("field"), text("attribute")];
  const value = fields.get("value");
  const isOfAttribute = fields.has("attribute");
  const match = fields.get("match") ?? (isOfAttribute ? undefined : value);
  if (isOfAttribute && value === undefined)
    complain(place, 'needs "value": what attribute must be');
  if (!isOfAttribute && value !== undefined && fields.has("match")) {
    complain(value, 'says the same as match; without "attribute" only one of them is wanted');
  }
  const isRange = fields.has("min") || fields.has("max");
  if (name === undefined || field === undefined) return undefined;
  const [min, max] = [text("min"), text("max")];
  const conditions: Condition[] = [];
  if (isRange) conditions.push({ kind: "version", field, min, max });
  if (match !== undefined) conditions.push({ kind: "one-of", field, values: readValues(match) });
  if (conditions.length === 0) conditions.push({ kind: "present", field });
  if (attribute !== undefined && value !== undefined) {
    conditions.push({ kind: "one-of", field: attribute, values: readValues(value) });
  }
  return { subsystem: name, conditions };
}

const WHAT = { name: ": the subsystem", field: ": what of the subsystem is looked at" } as const;

function readValues(place: Place): readonly string[] {
  if (!isList(place)) return [textOf(place) ?? ""];
  const items = itemsOf(place);
  if (items.length === 0) complain(place, "is empty");
  return items.map((item) => textOf(item) ?? "");
}

/** "io.archspec: { cpu.target: amd64 }", or "hardware.gpu.available: yes" without the subsystem. */
function readSubsystem(name: string, place: Place): readonly Requirement[] {
  if (name === "") complain(place, "needs the name of a subsystem");
  if (isMap(place)) {
    const fields = entriesOf(place);
    if (fields.length === 0) complain(place, "is empty");
    return fields.map(([field, value]) => ({
      subsystem: name,
      conditions: [{ kind: "one-of", field, values: readPreferences(field, value) }],
    }));
  }
  const dot = name.indexOf(".");
  if (dot <= 0) {
    complain(place, 'must be a map of fields and values, like { cpu.target: "amd64" }');
    return [];
  }
  // Fields are called after their subsystem: hardware.gpu.available is of "hardware".
  const condition = { kind: "one-of", field: name, values: readPreferences(name, place) } as const;
  return [{ subsystem: name.slice(0, dot), conditions: [condition] }];
}

/** A value, several, or several with priorities: [{priority: 1, storage: shm}, …]; 1 goes first. */
function readPreferences(field: string, place: Place): readonly string[] {
  if (!isList(place)) return readValues(place);
  const items = itemsOf(place);
  if (items.length === 0) complain(place, "is empty");
  return items
    .map((item, index) => {
      if (!isMap(item)) return { priority: index + 1, value: textOf(item) ?? "" };
      const fields = fieldsOf(item, ["priority", field]);
      const [priority, value] = [fields.get("priority"), fields.get(field)];
      if (value === undefined) complain(item, `needs "${field}"`);
      return {
        priority: (priority === undefined ? undefined : numberOf(priority)) ?? index + 1,
        value: (value === undefined ? undefined : textOf(value)) ?? "",
      };
    })
    .sort((a, b) => a.priority - b.priority)
    .map(({ value }) => value);
}
