import {
  readWorkload,
  type WorkloadContainer,
  type WorkloadDefinition,
  type WorkloadFunction,
} from "../../core/model/job/workload/workload.ts";

/** The ports where rik's controller lets functions listen on their nodes, and in their machines. */
const PORT_FIRST = 45_000;
const PORT_TOTAL = 5_000;
const PORT_INSIDE = 8_080;

const portAt = (number: number): number => PORT_FIRST + (number % PORT_TOTAL);

/**
 * The port that an instance uses on its node; undefined: it is no function. A function without a given port gets the first free one, beginning
 * with a number of its job.
 */
export function portFor(
  { function: called }: WorkloadDefinition,
  job: number,
  isTaken: (port: number) => boolean = () => false,
): number | undefined {
  if (called === undefined) return undefined;
  if (called.exposure !== undefined) return called.exposure.port;
  for (let number = job; number < job + PORT_TOTAL; number++) {
    if (!isTaken(portAt(number))) return portAt(number);
  }
  return portAt(job);
}

/** Undefined: an earlier version accepted it, and this one rejects it. */
export function readStored(definition: string): WorkloadDefinition | undefined {
  try {
    return readWorkload(definition);
  } catch {
    return undefined;
  }
}

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

/** `port`: of a function without a given one. */
export function toValue(workload: WorkloadDefinition, port?: number): DefinitionValue {
  const { apiVersion, kind, name, containers, replicas = null } = workload;
  const called = workload.function;
  const spec: SpecValue = {
    containers: containers.map(toContainer),
    function: called === undefined ? null : toFunction(called, port),
  };
  return { apiVersion, kind, name, spec, replicas };
}

// For pods, whose orders do not depend on a port.
const ORDERS = new WeakMap<WorkloadDefinition, string>();

/** The order for a worker of rik: it crashes when a field that it reads is missing. */
export function toOrder(workload: WorkloadDefinition, port: number | undefined): string {
  if (workload.function !== undefined) return JSON.stringify(toValue(workload, port));
  const known = ORDERS.get(workload);
  if (known !== undefined) return known;
  const order = JSON.stringify(toValue(workload));
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

function toFunction({ execution, exposure }: WorkloadFunction, port: number | undefined): object {
  const own = port === undefined ? null : { port, targetPort: PORT_INSIDE, type: "NodePort" };
  return { execution: { rootfs: execution.rootfs }, exposure: exposure ?? own };
}

/** Images that workers of rik are known to fail on, for the log: they look for another directory. */
export const doubtfulImages = ({ containers }: WorkloadDefinition): readonly string[] =>
  containers
    .map(({ image }) => image)
    .filter((image) => image.slice(0, image.indexOf(":")).includes("/"));
