import { AppError, invalid, unprocessable } from "../../../lib/errors.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";

type Json = unknown;
type Members = Record<string, Json>;

const OPERATIONS_MAX = 1_000;

const isObject = (value: Json): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** RFC 7386: null removes a field, objects are merged, anything else replaces. */
export function mergePatch(target: Json, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result: Members = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else Object.defineProperty(result, name, own(mergePatch(result[name], value)));
  }
  return result;
}

const own = (value: Json): PropertyDescriptor => ({
  value,
  enumerable: true,
  configurable: true,
  writable: true,
});

/** RFC 6902, with one difference that old clients depend on: `replace` of an absent member adds it, and with null does nothing. */
export function jsonPatch(target: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw invalid("", "a JSON patch is a list of operations");
  if (patch.length > OPERATIONS_MAX) throw invalid("", `at most ${OPERATIONS_MAX} operations`);
  let result: Json = structuredClone(target);
  for (const [at, operation] of patch.entries()) {
    try {
      result = applyOne(result, operation);
    } catch (error) {
      throw AppError.from(error, "json patch").at(`patch[${at}]`);
    }
  }
  return result;
}

function applyOne(document: Json, operation: Json): Json {
  if (!isObject(operation)) throw invalid("", "an operation is an object");
  const path = pointer(operation["path"], "path");
  switch (operation["op"]) {
    case "add":
      return change(document, path, { insert: valueOf(operation) });
    case "replace":
      return change(document, path, { replace: valueOf(operation) });
    case "remove":
      return change(document, path, "remove");
    case "test": {
      if (isDeepEqual(read(document, path), valueOf(operation))) return document;
      throw unprocessable("value", `${String(operation["path"])} has another value`);
    }
    case "move":
    case "copy": {
      const from = pointer(operation["from"], "from");
      const value = structuredClone(read(document, from));
      const without = operation["op"] === "move" ? change(document, from, "remove") : document;
      return change(without, path, { insert: value });
    }
    default:
      throw invalid("op", "must be add, remove, replace, move, copy or test");
  }
}

function valueOf(operation: Members): Json {
  if (!("value" in operation)) throw invalid("value", "is missing");
  return operation["value"];
}

function pointer(text: Json, field: string): readonly string[] {
  if (typeof text !== "string" || (text !== "" && !text.startsWith("/"))) {
    throw invalid(field, 'must be a JSON pointer, like "/metadata/labels"');
  }
  const steps = text.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function read(document: Json, path: readonly string[]): Json {
  let at = document;
  for (const step of path) {
    if (Array.isArray(at)) at = at[indexIn(at, step, at.length - 1)];
    else if (isObject(at) && Object.hasOwn(at, step)) at = at[step];
    else throw nothingAt(path);
  }
  return at;
}

type Edit = { readonly insert: Json } | { readonly replace: Json } | "remove";

function change(document: Json, path: readonly string[], edit: Edit): Json {
  const last = path.at(-1);
  if (last === undefined) {
    if (edit === "remove") throw invalid("path", "the whole document cannot be removed");
    return "insert" in edit ? edit.insert : edit.replace;
  }
  const holder = read(document, path.slice(0, -1));
  if (Array.isArray(holder)) changeList(holder, last, edit);
  else if (isObject(holder)) changeMember(holder, path, edit);
  else throw invalid("path", `${path.slice(0, -1).join("/")} holds nothing`);
  return document;
}

const nothingAt = (path: readonly string[]): AppError =>
  unprocessable("path", `there is nothing at /${path.join("/")}`);

function changeMember(holder: Members, path: readonly string[], edit: Edit): void {
  const name = path.at(-1) ?? "";
  if (edit === "remove") {
    if (!Object.hasOwn(holder, name)) throw nothingAt(path);
    delete holder[name];
    return;
  }
  const value = "insert" in edit ? edit.insert : edit.replace;
  Object.defineProperty(holder, name, own(value));
}

function changeList(holder: Json[], step: string, edit: Edit): void {
  if (edit === "remove") holder.splice(indexIn(holder, step, holder.length - 1), 1);
  else if ("insert" in edit) {
    const at = step === "-" ? holder.length : indexIn(holder, step, holder.length);
    holder.splice(at, 0, edit.insert);
  } else holder[indexIn(holder, step, holder.length - 1)] = edit.replace;
}

function indexIn(holder: readonly Json[], step: string, max: number): number {
  const index = /^(0|[1-9]\d{0,8})$/.test(step) ? Number(step) : Number.NaN;
  if (index <= max && holder.length >= 0) return index;
  throw new AppError("conflict", `the list has no ${JSON.stringify(step)}`);
}
