import { parseBoundedJson } from "../../../../lib/bytes/json-size.ts";
import { limits } from "../../../../limits.ts";
import { AppError, unprocessable } from "../../../../lib/errors.ts";
import type { Restart } from "../../service/service-terms.ts";
import { FILE_IMAGE } from "../containers/containers.ts";
import type { Where } from "../job.ts";

/** Nodes that run instances of workloads have an amount of this resource; each instance takes one. */
export const INSTANCES = "instances";

export interface WorkloadContainer {
  readonly name: string;
  readonly image: string;
  readonly env: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly ports:
    | {
        readonly port: number;
        readonly target_port: number;
        readonly protocol: string | undefined;
        readonly type: string;
      }
    | undefined;
}

export interface WorkloadFunction {
  readonly execution: { readonly rootfs: string };
  readonly exposure:
    | { readonly port: number; readonly targetPort: number; readonly type: "NodePort" }
    | undefined;
}

/**
 * The definition of a workload of rik: containers, or a function. Its worker reads these fields; Busbar
 * stores other fields and ignores them, except requested amounts and the restart policy.
 */
export interface WorkloadDefinition {
  readonly apiVersion: string;
  readonly kind: "Pod" | "Function";
  readonly name: string;
  /** The number of instances in the definition; undefined: it has none. */
  readonly replicas: number | undefined;
  readonly containers: readonly WorkloadContainer[];
  readonly function: WorkloadFunction | undefined;
  /** When an instance that ends by itself is started again; undefined: never. */
  readonly restart: Restart | undefined;
  /** The request of one instance, in the units people write; empty: only its instance resource. */
  readonly requests: Readonly<Record<string, number>>;
}

// Instances of one workload are submitted one after the other with the same text, and several parts of the code read it.
const READ = new Map<string, WorkloadDefinition>();
const READ_MAX = 16;

/** Throws `unprocessable`, with the path inside the definition. */
export function readWorkload(text: string, field = ""): WorkloadDefinition {
  const known = READ.get(text);
  if (known !== undefined) return known;
  const read = parseWorkload(text, field);
  if (READ.size >= READ_MAX) READ.clear();
  READ.set(text, read);
  return read;
}

function parseWorkload(text: string, field: string): WorkloadDefinition {
  const at = (path: string): string =>
    field === "" ? path : path === "" ? field : `${field}.${path}`;
  let value: unknown;
  try {
    value = parseBoundedJson(text, limits);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "";
    throw new AppError("unprocessable", `is not JSON: ${why}`, { field: at("") });
  }
  return new Reader(at).workload(value);
}

type Fields = Readonly<Record<string, unknown>>;

const UINT16_MAX = 65_535;

class Reader {
  readonly #at: (path: string) => string;

  constructor(at: (path: string) => string) {
    this.#at = at;
  }

  workload(value: unknown): WorkloadDefinition {
    const fields = this.#object(value, "");
    const kind = this.#text(fields, "kind", "kind");
    if (kind !== "Pod" && kind !== "Function") {
      throw this.#wrong("kind", `must be Pod or Function, not ${shown(kind)}`);
    }
    const spec = this.#object(fields["spec"], "spec");
    const containers = this.#list(spec["containers"], "spec.containers").map((one, at) =>
      this.#container(one, `spec.containers[${at}]`),
    );
    const own = spec["function"];
    const call = isAbsent(own) ? undefined : this.#function(own);
    if (kind === "Function" && call === undefined) {
      throw this.#wrong("spec.function", "is missing: a Function needs execution.rootfs");
    }
    const { replicas } = fields;
    return {
      apiVersion: this.#text(fields, "apiVersion", "apiVersion"),
      kind,
      name: this.#text(fields, "name", "name"),
      replicas: isAbsent(replicas) ? undefined : this.#uint16(replicas, "replicas"),
      containers,
      function: call,
      restart: this.#restart(spec["restartPolicy"]),
      requests: this.#requests(spec),
    };
  }

  #container(value: unknown, path: string): WorkloadContainer {
    const fields = this.#object(value, path);
    const image = this.#text(fields, "image", `${path}.image`);
    // A worker of rik exits when it receives one: it would take down worker after worker.
    if (!/^[^:\s]+:\S+$/.test(image)) {
      const problem = `${shown(image)} has no tag, without which a worker fails; write alpine:latest`;
      throw this.#wrong(`${path}.image`, problem);
    }
    const { env, ports } = fields;
    return {
      name: this.#text(fields, "name", `${path}.name`),
      image,
      env: isAbsent(env) ? undefined : this.#env(env, `${path}.env`),
      ports: isAbsent(ports) ? undefined : this.#ports(ports, `${path}.ports`),
    };
  }

  #env(value: unknown, path: string): WorkloadContainer["env"] {
    return this.#list(value, path).map((one, at) => {
      const fields = this.#object(one, `${path}[${at}]`);
      const name = this.#text(fields, "name", `${path}[${at}].name`);
      return { name, value: this.#text(fields, "value", `${path}[${at}].value`) };
    });
  }

  #ports(value: unknown, path: string): WorkloadContainer["ports"] {
    const fields = this.#object(value, path);
    const { protocol } = fields;
    return {
      port: this.#uint16(fields["port"], `${path}.port`),
      target_port: this.#uint16(fields["target_port"], `${path}.target_port`),
      protocol: isAbsent(protocol) ? undefined : this.#text(fields, "protocol", `${path}.protocol`),
      type: this.#text(fields, "type", `${path}.type`),
    };
  }

  #function(value: unknown): WorkloadFunction {
    const path = "spec.function";
    const fields = this.#object(value, path);
    const execution = this.#object(fields["execution"], `${path}.execution`);
    const rootfs = this.#text(execution, "rootfs", `${path}.execution.rootfs`);
    // Its worker exits at one that it cannot parse.
    if (!/^[a-z][a-z0-9+.-]*:\S+$/i.test(rootfs) || !URL.canParse(rootfs)) {
      throw this.#wrong(`${path}.execution.rootfs`, `${shown(rootfs)} is not an absolute URL`);
    }
    const { exposure } = fields;
    if (isAbsent(exposure)) return { execution: { rootfs }, exposure: undefined };
    const object = this.#object(exposure, `${path}.exposure`);
    const type = this.#text(object, "type", `${path}.exposure.type`);
    if (type !== "NodePort") throw this.#wrong(`${path}.exposure.type`, "must be NodePort");
    const port = this.#uint16(object["port"], `${path}.exposure.port`);
    const targetPort = this.#uint16(object["targetPort"], `${path}.exposure.targetPort`);
    return { execution: { rootfs }, exposure: { port, targetPort, type } };
  }

  #restart(value: unknown): Restart | undefined {
    if (isAbsent(value)) return undefined;
    const known = typeof value === "string" ? RESTART_POLICIES.get(value) : undefined;
    if (known !== undefined) return known;
    const names = [...RESTART_POLICIES.keys()].join(", ");
    throw this.#wrong("spec.restartPolicy", `must be one of ${names}`);
  }

  /** The sum over the containers, and the requests of the spec itself. */
  #requests(spec: Fields): Record<string, number> {
    const sums: Record<string, number> = {};
    const containers = Array.isArray(spec["containers"]) ? spec["containers"] : [];
    for (const [at, one] of [spec, ...(containers as Fields[])].entries()) {
      const path = at === 0 ? "spec.resources" : `spec.containers[${at - 1}].resources`;
      const { resources } = one;
      if (isAbsent(resources)) continue;
      const { requests } = this.#object(resources, path);
      if (isAbsent(requests)) continue;
      const amounts = this.#object(requests, `${path}.requests`);
      for (const [name, amount] of Object.entries(amounts)) {
        const read = this.#amount(name, amount, `${path}.requests.${name}`);
        sums[name] = Math.round(((sums[name] ?? 0) + read) * 1_000) / 1_000;
      }
    }
    return sums;
  }

  #amount(name: string, amount: unknown, path: string): number {
    const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(String(amount)) ?? [];
    const factor = name === "cpu" ? CPU_UNITS[suffix] : BYTE_UNITS[suffix];
    const right = name === "cpu" ? "0.5 or 500m" : "134217728 or 128Mi";
    if (digits === "" || factor === undefined) {
      throw this.#wrong(path, `${shown(String(amount))} is not an amount, like ${right}`);
    }
    const read = Number(digits) * factor;
    return name === "cpu" ? Math.round(read * 1_000) / 1_000 : Math.round(read);
  }

  #uint16(value: unknown, path: string): number {
    const isWhole = typeof value === "number" && Number.isInteger(value);
    if (isWhole && value >= 0 && value <= UINT16_MAX) return value;
    throw this.#wrong(path, `must be a whole number from 0 to ${UINT16_MAX}`);
  }

  #text(fields: Fields, name: string, path: string): string {
    const value = fields[name];
    if (typeof value === "string") {
      // A worker of rik cannot parse an order with one, and exits.
      if (value.isWellFormed()) return value;
      throw this.#wrong(path, "must not contain half a surrogate pair");
    }
    throw this.#wrong(path, value === undefined ? "is missing" : "must be a text");
  }

  #list(value: unknown, path: string): readonly unknown[] {
    if (isAbsent(value)) return [];
    if (Array.isArray(value)) return value as readonly unknown[];
    throw this.#wrong(path, "must be a list");
  }

  #object(value: unknown, path: string): Fields {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Fields;
    throw this.#wrong(path, value === undefined ? "is missing" : "must be an object");
  }

  #wrong(path: string, problem: string): AppError {
    return unprocessable(this.#at(path), problem);
  }
}

/** In the words of Kubernetes, as requested amounts are. */
const RESTART_POLICIES: ReadonlyMap<string, Restart> = new Map([
  ["Always", "always"],
  ["OnFailure", "on-failure"],
  ["Never", "never"],
]);

const CPU_UNITS: Readonly<Record<string, number>> = { "": 1, m: 0.001 };
const BYTE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

const isAbsent = (value: unknown): value is undefined | null =>
  value === undefined || value === null;

const shown = (text: string): string => JSON.stringify(text.slice(0, 80));

/** The containers of a Pod, for nodes that run containers themselves; undefined: it is a Function. */
export function podOf(
  text: string,
): { readonly name: string; readonly containers: readonly WorkloadContainer[] } | undefined {
  const { kind, name, containers } = readWorkload(text);
  return kind === "Pod" ? { name, containers } : undefined;
}

// Shared, like ANYWHERE of other jobs.
const ANYWHERE_OF = {
  Pod: Object.freeze({ workload: "Pod" }),
  FilePod: Object.freeze({ workload: "FilePod" }),
  Function: Object.freeze({ workload: "Function" }),
} as const satisfies Readonly<Record<string, Where>>;

/** Where its instances may run, in addition to the job's own restrictions. */
export function whereOf(text: string, asked: Where): Where {
  const { kind, containers, function: called } = readWorkload(text, "workload");
  const port = called?.exposure?.port;
  if (port !== undefined) return { ...asked, workload: kind, port };
  const hasFiles = kind === "Pod" && containers.some(({ image }) => FILE_IMAGE.test(image));
  const workload = hasFiles ? "FilePod" : kind;
  const isAnywhere = Object.keys(asked).length === 0;
  return isAnywhere ? ANYWHERE_OF[workload] : { ...asked, workload };
}
