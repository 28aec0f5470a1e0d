import { AppError, invalid } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { checkName, type ServiceId } from "../../../model/ids.ts";
import { instancesAtOnce } from "../../../model/service/instances-at-once.ts";
import type { Answers, CommandOf, Decision } from "../../command.ts";
import type { AddedInstance } from "../../services/service-commands.ts";
import type { SlotRecord } from "../../services/service-record.ts";
import type { State } from "../../state.ts";
import { emptied, type EmptySlot, fillSlots, newSlot, removeSlot } from "./fill-slots.ts";
import { requireService, templateChars } from "./services.ts";

/** Adds instances that a caller names, beside those that the core numbers. Starts instances again that ended for good. */
export function addInstances(
  state: State,
  { service: id, names, by, nowMs }: CommandOf<"add-instances">,
): Decision<Answers["add-instances"]> {
  const record = requireService(state, id);
  checkNames(names);
  const empty: EmptySlot[] = [];
  const existing = new Map<string, SlotRecord>();
  for (const name of names) {
    const slot = record.slots.get(name);
    if (slot?.row.isRemoved === true) {
      throw new AppError(
        "conflict",
        `instance ${name} of service ${id} is ending; try again when it has ended`,
      );
    }
    if (slot === undefined) empty.push(newSlot(record.row, name));
    else if (slot.row.ended !== undefined) empty.push(emptied(slot));
    else existing.set(name, slot);
  }
  if (state.services.slotCount + empty.length > limits.instancesMax) {
    throw new AppError("exhausted", `at most ${limits.instancesMax} instances of all services`);
  }
  const atOnce = instancesAtOnce(templateChars(record.row.template.spec));
  if (empty.length > atOnce) {
    throw invalid(
      "names",
      `at most ${atOnce} at once with a template of this size, not ${empty.length}`,
    );
  }
  const { changes, jobIds } = fillSlots(state, record.row, empty, { by, nowMs });
  const made = new Map(empty.map(({ name }, at) => [name, jobIds[at]]));
  const instances = names.map((name): AddedInstance => {
    const there = existing.get(name);
    const jobId = there?.row.jobId ?? made.get(name);
    if (jobId === undefined) throw invalid("names", `${name} is named twice`);
    return { name, jobId, existed: there !== undefined };
  });
  return { changes, answer: { instances } };
}

/** Ends their jobs; each instance is removed when its job has ended. All or none. */
export function removeInstances(
  state: State,
  { service: id, names, reason, by, nowMs }: CommandOf<"remove-instances">,
): Decision<undefined> {
  const record = state.services.get(id);
  if (record === undefined) throw new AppError("not_found", `there is no service ${id}`);
  checkNames(names);
  const slots = names.map((name) => record.slots.get(name) ?? unknown(id, name));
  const order = { reason: reason === "" ? `removed by ${by}` : reason, by, nowMs };
  return { changes: slots.flatMap((slot) => removeSlot(state, slot, order)), answer: undefined };
}

function unknown(service: ServiceId, name: string): never {
  throw new AppError("not_found", `service ${service} has no instance ${name}`);
}

function checkNames(names: readonly string[]): void {
  const { instancesPerCallMax: most, nameLengthMax } = limits;
  if (names.length === 0) throw invalid("names", "must name an instance");
  if (names.length > most) throw invalid("names", `at most ${most} at once, not ${names.length}`);
  const seen = new Set<string>();
  for (const [at, name] of names.entries()) {
    checkName(name, `names[${at}]`, nameLengthMax);
    if (seen.has(name)) throw invalid(`names[${at}]`, `${name} is named twice`);
    seen.add(name);
  }
}
