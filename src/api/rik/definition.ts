import type {
  WorkloadDefinition,
  WorkloadContainer,
  WorkloadFunction,
} from "../../core/model/job/workload/workload.ts";
import { readWorkload } from "../../core/model/job/workload/workload.ts";

/** The ports where rik's controller lets functions listen on their nodes, and in their machines. */
const PORT_FIRST = 45_000;
const PORT_TOTAL = 5_000;
const PORT_INSIDE = 8_080;

/** The port of a function without a given one: each instance has its own. */
export const portOf = (job: number): number => PORT_FIRST + (job % PORT_TOTAL);

interface SpecValue {
  readonly containers: readonly object[];
  readonly function: object | null;
}

/** A definition in the words of rik, with its keys in rik's order. */
export interface DefinitionValue {
  readonly apiVersion: string;
  readonly kind: WorkloadDefinition["kind"];
  readonly name: string;
  readonly spec: SpecValue;
  readonly replicas: number | null;
}

/** `job`: the job of its instance, which determines a function's port. */
export function toValue(workload: WorkloadDefinition, job?: number): DefinitionValue {
  const { apiVersion, kind, name, containers, replicas = null } = workload;
  const called = workload.function;
  const spec: SpecValue = {
    containers: containers.map(toContainer),
    function: called === undefined ? null : toFunction(called, job),
  };
  return { apiVersion, kind, name, spec, replicas };
}

// For pods, whose orders do not depend on their jobs.
const ORDERS = new WeakMap<WorkloadDefinition, string>();

/** The order for a worker of rik: it crashes when a field that it reads is missing. */
export function toOrder(text: string, job: number): string {
  const workload = readWorkload(text);
  if (workload.function !== undefined) return JSON.stringify(toValue(workload, job));
  const known = ORDERS.get(workload);
  if (known !== undefined) return known;
  const order = JSON.stringify(toValue(workload, job));
  ORDERS.set(workload, order);
  return order;
}

const toContainer = ({ name, image, env, ports }: WorkloadContainer): object => ({
  name,
  image,
  env: env ?? null,
  ports:
    ports === undefined
      ? null
      : {
          port: ports.port,
          target_port: ports.target_port,
          protocol: ports.protocol ?? null,
          type: ports.type,
        },
});

function toFunction({ execution, exposure }: WorkloadFunction, job: number | undefined): object {
  const own =
    job === undefined ? null : { port: portOf(job), targetPort: PORT_INSIDE, type: "NodePort" };
  return { execution: { rootfs: execution.rootfs }, exposure: exposure ?? own };
}

/** The port that an instance of a function uses on its node; undefined: it is no function. */
export const portUsed = (
  { function: called }: WorkloadDefinition,
  job: number,
): number | undefined =>
  called === undefined ? undefined : (called.exposure?.port ?? portOf(job));

/** Images that workers of rik are known to fail on, for the log: they look for another directory. */
export const doubtfulImages = ({ containers }: WorkloadDefinition): readonly string[] =>
  containers
    .map(({ image }) => image)
    .filter((image) => image.slice(0, image.indexOf(":")).includes("/"));
