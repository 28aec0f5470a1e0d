import { AppError, unprocessable } from "../../../../lib/errors.ts";
import { isDeepEqual } from "../../../../lib/is-deep-equal.ts";
import { limits } from "../../../../limits.ts";
import { NO_REVISION, type ServiceId } from "../../../model/ids.ts";
import type { JobSpec } from "../../../model/job/job.ts";
import {
  DEFAULT_ROLLOUT,
  type Rollout,
  type Service,
  type Template,
  templateOf,
  toReplicas,
  toRolloutTerms,
  toTemplateSpec,
} from "../../../model/service/service.ts";
import { visible } from "../../../model/texts.ts";
import type { Change } from "../../change.ts";
import type { CommandOf, Decision } from "../../command.ts";
import { storedSpec } from "../../jobs/job-codec.ts";
import type { ServiceRecord } from "../../services/service-record.ts";
import type { State } from "../../state.ts";
import { checkRevision, type Conditional } from "../if-revision.ts";
import { replaceJob } from "./fill-slots.ts";

/** Creates a service, or changes the given fields. A different template is rolled out; the same one restarts instances that ended for good. */
export function putService(state: State, command: CommandOf<"put-service">): Decision<undefined> {
  const { id, replicas, rollout, by, nowMs } = command;
  const known = state.services.get(id);
  checkRevision(`service ${id}`, known?.revision ?? NO_REVISION, command);
  const spec = command.spec && checkTemplate(toTemplateSpec(id, command.spec));
  const terms = toRolloutTerms(rollout ?? {}, known?.row.terms ?? DEFAULT_ROLLOUT);
  if (known === undefined) {
    if (spec === undefined)
      throw unprocessable("template", `is missing: there is no service ${id} yet`);
    if (state.services.size >= limits.servicesMax) {
      throw new AppError("exhausted", `the limit of ${limits.servicesMax} services is reached`);
    }
    const row: Service = {
      id,
      template: { generation: 1, spec, atMs: nowMs, by },
      former: [],
      lastGeneration: 1,
      replicas: toReplicas(replicas ?? 0),
      terms,
      rollout: { kind: "done" },
      createdAtMs: nowMs,
      changedBy: by,
    };
    return written(row);
  }
  checkStays(known);
  const before = known.row;
  if (spec !== undefined) checkWork(before, spec);
  const base = {
    ...before,
    replicas: toReplicas(replicas ?? before.replicas),
    terms: isDeepEqual(terms, before.terms) ? before.terms : terms,
    changedBy: by,
  };
  const row = spec === undefined ? base : withTemplate(known, base, spec, { by, nowMs });
  const again = spec === undefined ? [] : startAgain(state, known, row, { by, nowMs });
  if (again.length === 0 && isSame(before, row)) return { changes: [], answer: undefined };
  return { changes: [{ table: "service", row }, ...again], answer: undefined };
}

const written = (row: Service): Decision<undefined> => ({
  changes: [{ table: "service", row }],
  answer: undefined,
});

const isSame = (a: Service, b: Service): boolean =>
  a.template === b.template &&
  a.terms === b.terms &&
  a.replicas === b.replicas &&
  a.rollout.kind === b.rollout.kind;

export const templateChars = (spec: JobSpec): number => JSON.stringify(storedSpec(spec)).length;

/** Limited in size: earlier templates are stored with each change of the service. */
function checkTemplate(spec: JobSpec): JobSpec {
  const length = templateChars(spec);
  if (length <= limits.templateCharsMax) return spec;
  throw unprocessable("template", `has ${length} characters; at most ${limits.templateCharsMax}`);
}

/** The program that made a workload finds its instances by the definition. */
function checkWork({ id, template }: Service, spec: JobSpec): void {
  if (template.spec.work.kind !== "workload" || spec.work.kind === "workload") return;
  const right = "change its definition where it was created, or choose another name";
  throw unprocessable("template", `service ${id} runs a workload and no command: ${right}`);
}

interface Order {
  readonly by: string;
  readonly nowMs: number;
}

/** The present template, a stored earlier one, or a new generation. */
function withTemplate(
  record: ServiceRecord,
  row: Service,
  spec: JobSpec,
  { by, nowMs }: Order,
): Service {
  const isIt = (one: Template): boolean =>
    isDeepEqual(one.spec.terms, spec.terms) && isDeepEqual(one.spec.work, spec.work);
  if (isIt(row.template)) {
    // A stopped rollout is tried again.
    const { rollout } = row;
    if (rollout.kind !== "stopped") return row;
    return { ...row, rollout: { kind: "rolling", from: rollout.from, sinceMs: nowMs } };
  }
  const known = row.former.findLast(isIt);
  if (known !== undefined) return rolledTo(record, row, known, nowMs);
  const generation = row.lastGeneration + 1;
  const template = { generation, spec, atMs: nowMs, by };
  return rolledTo(record, { ...row, lastGeneration: generation }, template, nowMs);
}

function rolledTo(record: ServiceRecord, row: Service, template: Template, nowMs: number): Service {
  const { rollout, template: before } = row;
  const others = row.former.filter(({ generation }) => generation !== template.generation);
  const from = rollout.kind === "done" ? before.generation : rollout.from;
  return {
    ...row,
    template,
    former: keepSome([...others, before], from),
    rollout: rolloutOf(record, from, nowMs),
  };
}

/** Without instances there is nothing to roll out. */
const rolloutOf = ({ slots }: ServiceRecord, from: number, sinceMs: number): Rollout =>
  slots.size === 0 ? { kind: "done" } : { kind: "rolling", from, sinceMs };

/** The latest, and the one that was rolled out last, which new instances still use. */
function keepSome(former: readonly Template[], from: number): readonly Template[] {
  if (former.length <= limits.templatesKept) return former;
  const dropped = former.findIndex(({ generation }) => generation !== from);
  return former.filter((_one, at) => at !== dropped);
}

/** Instances that ended for good, and those that stopped a rollout, get a new job. */
function startAgain(
  state: State,
  { sets, row: before }: ServiceRecord,
  row: Service,
  order: Order,
): readonly Change[] {
  if (row.template !== before.template) return []; // the rollout replaces them
  const reason = `started again by ${order.by}`;
  const slots = new Set([...sets.settled, ...sets.failing]);
  return [...slots].flatMap((slot) =>
    replaceJob(state, slot, slot.row.generation, { ...order, reason }),
  );
}

export function scaleService(
  state: State,
  command: CommandOf<"scale-service">,
): Decision<undefined> {
  const { row } = serviceToChange(state, command);
  const replicas = toReplicas(command.replicas);
  if (replicas === row.replicas) return { changes: [], answer: undefined };
  return written({ ...row, replicas, changedBy: command.by });
}

/** Rolls back to the template before, or to a stored generation. */
export function rollbackService(
  state: State,
  command: CommandOf<"rollback-service">,
): Decision<undefined> {
  const record = serviceToChange(state, command);
  const { row } = record;
  const { id, former, rollout } = row;
  const usual = rollout.kind === "done" ? former.at(-1)?.generation : rollout.from;
  const wanted = command.generation ?? usual;
  const numbers = former.map(({ generation }) => generation).sort((a, b) => a - b);
  if (wanted === undefined || numbers.length === 0) {
    throw new AppError("conflict", `service ${id} has no former template to go back to`);
  }
  if (wanted === row.template.generation) {
    throw new AppError("conflict", `service ${id} already has generation ${wanted}`);
  }
  const template = templateOf(row, wanted);
  if (template === undefined) {
    const known = `retained: ${numbers.join(", ")}`;
    const problem = `service ${id} has no generation ${wanted}; ${known}`;
    throw new AppError("not_found", problem, { field: "generation" });
  }
  const { by, nowMs } = command;
  return written({ ...rolledTo(record, row, template, nowMs), changedBy: by });
}

export function removeService(
  state: State,
  command: CommandOf<"remove-service">,
): Decision<undefined> {
  const { id, by, nowMs } = command;
  const record = state.services.get(id);
  if (record === undefined) throw missing(id);
  checkRevision(`service ${id}`, record.revision, command);
  if (record.row.removal !== undefined) return { changes: [], answer: undefined };
  const reason = visible(command.reason, limits.reasonLengthMax) || `service ${id} was removed`;
  return written({ ...record.row, changedBy: by, removal: { atMs: nowMs, by, reason } });
}

const missing = (id: ServiceId): AppError => new AppError("not_found", `there is no service ${id}`);

/** A service that is not being removed. */
export function requireService(state: State, id: ServiceId): ServiceRecord {
  const record = state.services.get(id);
  if (record === undefined) throw missing(id);
  checkStays(record);
  return record;
}

function serviceToChange(
  state: State,
  command: Conditional & { readonly id: ServiceId },
): ServiceRecord {
  const record = state.services.get(command.id);
  if (record === undefined) throw missing(command.id);
  checkRevision(`service ${command.id}`, record.revision, command);
  checkStays(record);
  return record;
}

function checkStays({ row }: ServiceRecord): void {
  if (row.removal === undefined) return;
  throw new AppError(
    "conflict",
    `service ${row.id} is being removed; try again when its instances have ended`,
  );
}
