import type { Condition, Requirement } from "../../graph/request/request.ts";
import {
  reportProblem,
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
 * Requirements in either form: a list of {name, field, …}, or a map of subsystems, in which a
 * different vertex may meet each field.
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
 * {name, field}: the field exists. With `match` (or `value`, as in published examples): it is exactly that value, or one of several. With
 * `min` and `max`: a version between them; with `match` too, both. With `attribute` and `value`: the same vertex must meet this too.
 */
function readEntry(place: Place): Requirement | undefined {
  const fields = fieldsOf(place, KEYS);
  if (!isMap(place)) return undefined;
  const text = (key: (typeof KEYS)[number]): string | undefined => {
    const at = fields.get(key);
    return at === undefined ? undefined : textOf(at);
  };
  for (const key of ["name", "field"] as const) {
    if (!fields.has(key)) reportProblem(place, `needs "${key}"${WHAT[key]}`);
  }
  const [name, field, attribute] = [text("name"), text("field"), text("attribute")];
  const value = fields.get("value");
  const isOfAttribute = fields.has("attribute");
  const match = fields.get("match") ?? (isOfAttribute ? undefined : value);
  if (isOfAttribute && value === undefined)
    reportProblem(place, 'needs "value": the value that the attribute must have');
  if (!isOfAttribute && value !== undefined && fields.has("match")) {
    reportProblem(value, 'is the same as match; without "attribute" write only one of them');
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

const WHAT = { name: ": the subsystem", field: ": the field of the subsystem to compare" } as const;

function readValues(place: Place): readonly string[] {
  if (!isList(place)) return [textOf(place) ?? ""];
  const items = itemsOf(place);
  if (items.length === 0) reportProblem(place, "is empty");
  return items.map((item) => textOf(item) ?? "");
}

/** "io.archspec: { cpu.target: amd64 }", or "hardware.gpu.available: yes" without the subsystem. */
function readSubsystem(name: string, place: Place): readonly Requirement[] {
  if (name === "") reportProblem(place, "needs the name of a subsystem");
  if (isMap(place)) {
    const fields = entriesOf(place);
    if (fields.length === 0) reportProblem(place, "is empty");
    return fields.map(([field, value]) => ({
      subsystem: name,
      conditions: [{ kind: "one-of", field, values: readPreferences(field, value) }],
    }));
  }
  const dot = name.indexOf(".");
  if (dot <= 0) {
    reportProblem(place, 'must be a map of fields and values, like { cpu.target: "amd64" }');
    return [];
  }
  // A field begins with the name of its subsystem: hardware.gpu.available is of "hardware".
  const condition = { kind: "one-of", field: name, values: readPreferences(name, place) } as const;
  return [{ subsystem: name.slice(0, dot), conditions: [condition] }];
}

/**
 * A value, several values, or several with priorities: [{priority: 1, storage: shm}, …]; 1 goes
 * first.
 */
function readPreferences(field: string, place: Place): readonly string[] {
  if (!isList(place)) return readValues(place);
  const items = itemsOf(place);
  if (items.length === 0) reportProblem(place, "is empty");
  return items
    .map((item, index) => {
      if (!isMap(item)) return { priority: index + 1, value: textOf(item) ?? "" };
      const fields = fieldsOf(item, ["priority", field]);
      const [priority, value] = [fields.get("priority"), fields.get(field)];
      if (value === undefined) reportProblem(item, `needs "${field}"`);
      return {
        priority: (priority === undefined ? undefined : numberOf(priority)) ?? index + 1,
        value: (value === undefined ? undefined : textOf(value)) ?? "",
      };
    })
    .sort((a, b) => a.priority - b.priority)
    .map(({ value }) => value);
}
