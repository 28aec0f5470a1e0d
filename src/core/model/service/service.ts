import type { Rule } from "../../../lib/rules/rules.ts";
import { unprocessable } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { type JobId, NAME_RULE, type ServiceId } from "../ids.ts";
import type { JobSpec, Texts } from "../job/job.ts";
import { SharedSpec } from "../job/job.ts";
import { DEFAULT_SERVICE } from "./service-terms.ts";
import type { JobStateName } from "../progress.ts";
import { whole } from "../job/whole.ts";

/** The spec of instances, and who set it. */
export interface Template {
  /** Counts up with each new template of the service. */
  readonly generation: number;
  /** Its name is that of the service; an instance's job has the instance's name. */
  readonly spec: JobSpec;
  readonly atMs: number;
  readonly by: string;
}

/** How a template is replaced by another. */
export interface RolloutTerms {
  /** Instances that may be stopped, or not be ready yet, at once. */
  readonly maxUnavailable: number;
  /** A new instance is ready once it has run for this time. */
  readonly minReadyMs: number;
  /** The rollout stops when a new instance has failed this often before it was ready. */
  readonly failuresMax: number;
}

/**
 *   done --another template--> rolling --all instances have it and are ready--> done
 *                               ^   |
 *              apply, rollback  |   +--new ones fail--> stopped
 *                               +-----------------------+
 *
 * `from`: the generation that was rolled out last. What is started beside the rollout is made of it.
 */
export type Rollout =
  | { readonly kind: "done" }
  | { readonly kind: "rolling"; readonly from: number; readonly sinceMs: number }
  | {
      readonly kind: "stopped";
      readonly from: number;
      readonly sinceMs: number;
      readonly reason: string;
    };

/** A wanted number of instances of a template: docs/design/services.md. */
export interface Service {
  readonly id: ServiceId;
  readonly template: Template;
  /** Earlier templates, latest last, bounded. */
  readonly former: readonly Template[];
  /** The highest of all templates so far. */
  readonly lastGeneration: number;
  /** The number of instances that the core names and maintains; instances named by callers are additional. */
  readonly replicas: number;
  readonly terms: RolloutTerms;
  readonly rollout: Rollout;
  readonly createdAtMs: number;
  readonly changedBy: string;
  /** It is removed when its last instance has ended; absent: it stays. */
  readonly removal?: Removal;
}

export interface Removal {
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
}

/** One place of a service, which one job at a time fills. It gets another job only after the present one has ended. */
export interface Slot {
  /** "SERVICE/NAME" */
  readonly id: string;
  readonly service: ServiceId;
  readonly name: string;
  /** For a slot that the core named: NAME-<number>; absent: a caller named it. */
  readonly number?: number;
  /** The wanted generation. */
  readonly generation: number;
  readonly jobId: JobId;
  /** The generation of its job. */
  readonly made: number;
  /** When its job has ended, it gets another. */
  readonly isReplaced?: true;
  /** When its job has ended, it is removed. */
  readonly isRemoved?: true;
  /** Its job ended by itself, and gets no successor; absent: it has not ended. */
  readonly ended?: SlotEnd;
}

export interface SlotEnd {
  readonly state: JobStateName;
  readonly atMs: number;
  readonly reason?: string;
}

/** Names have no slash. */
export const slotIdOf = (service: ServiceId, name: string): string => `${service}/${name}`;

/** The names that the core gives to its instances. */
export const countedName = (service: ServiceId, number: number): string => `${service}-${number}`;

/** The number that the core must skip because of this name; undefined: none. */
export function numberIn({ service, name }: Pick<Slot, "service" | "name">): number | undefined {
  const rest = name.startsWith(`${service}-`) ? name.slice(service.length + 1) : "";
  return /^[1-9][0-9]{0,8}$/.test(rest) ? Number(rest) : undefined;
}

/** The label of a service's jobs. */
export const SERVICE_LABEL = "busbar.service";

export const SERVICE_RULES = {
  replicas: { minimum: 0, maximum: limits.replicasMax },
} as const satisfies Readonly<Record<string, Rule>>;

/** For instances that are added or removed at once. */
export const INSTANCE_NAMES_RULE = {
  minItems: 1,
  maxItems: limits.instancesPerCallMax,
  items: NAME_RULE,
} as const satisfies Rule;

export const ROLLOUT_RULES = {
  maxUnavailable: { minimum: 1, maximum: limits.unavailableMax },
  minReadyMs: { minimum: 0, maximum: limits.durationMsMax },
  failuresMax: { minimum: 1, maximum: limits.rolloutFailuresMax },
} as const satisfies Readonly<Record<string, Rule>>;

export const DEFAULT_ROLLOUT: RolloutTerms = {
  maxUnavailable: 1,
  minReadyMs: limits.minReadyMsDefault,
  failuresMax: limits.rolloutFailuresDefault,
};

export type RolloutInput = { readonly [Name in keyof RolloutTerms]?: number | undefined };

/** Absent fields stay. */
export function toRolloutTerms(input: RolloutInput, before: RolloutTerms): RolloutTerms {
  const of = (name: keyof RolloutTerms): number =>
    whole(input[name] ?? before[name], `rollout.${name}`, ROLLOUT_RULES[name]);
  return {
    maxUnavailable: of("maxUnavailable"),
    minReadyMs: of("minReadyMs"),
    failuresMax: of("failuresMax"),
  };
}

export const toReplicas = (replicas: number): number =>
  whole(replicas, "replicas", SERVICE_RULES.replicas);

/** A spec of which each instance is one task: always a service, with the service label. */
export function toTemplateSpec(id: ServiceId, spec: JobSpec): JobSpec {
  const no = (field: string, why: string) => unprocessable(`template.${field}`, why);
  if (spec.array !== undefined) throw no("array", "an instance has one task: use replicas");
  if (spec.energy !== undefined) throw no("energy", "a service does not end");
  if (spec.work.kind === "jobspec") throw no("jobspec", "write a command or a script");
  if (spec.dependsOn !== undefined) throw no("dependsOn", "instances cannot depend on other jobs");
  if (spec.retries.max > 0)
    throw no("retries", "template.service.restart says when it starts again");
  if (spec.queueDeadlineMs !== undefined)
    throw no("queueDeadlineMs", "an instance may be pending without a limit");
  const labels: Texts = { ...spec.labels, [SERVICE_LABEL]: id };
  if (Object.keys(labels).length > limits.labelsMax) {
    throw no("labels", `at most ${limits.labelsMax - 1} labels beside ${SERVICE_LABEL}`);
  }
  const terms = { ...spec.terms, labels, service: spec.service ?? DEFAULT_SERVICE };
  return new SharedSpec(id, spec.work, terms);
}

/** The job of an instance shares everything but its name with those of the others. */
export const specOfInstance = ({ spec }: Template, name: string): JobSpec =>
  new SharedSpec(name, spec.work, spec.terms);

/** The template of a generation; undefined: it is no longer stored. */
export function templateOf(service: Service, generation: number): Template | undefined {
  if (service.template.generation === generation) return service.template;
  return service.former.find((one) => one.generation === generation);
}

/**
 * Instances that are started during a rollout, and are not part of it, have the generation that was
 * rolled out last.
 */
export function steadyGeneration(service: Service): number {
  const { rollout, template } = service;
  if (rollout.kind === "done") return template.generation;
  return templateOf(service, rollout.from)?.generation ?? template.generation;
}
