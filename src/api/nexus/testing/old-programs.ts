import { expect } from "vitest";
import { KINDS, type KindName } from "../model/kinds.ts";
import { hashName, type Path, treeLabels } from "../model/names.ts";

/** The recorded calls of the old programs. */

export interface TreeReply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export type Send = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<TreeReply>;

export interface Shown {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: { readonly state: Readonly<Record<string, unknown>> };
}

export const at = (kind: KindName, path?: Path): string => {
  const { group, plural } = KINDS[kind];
  const name = path === undefined ? "" : `/${hashName(KINDS[kind], path)}`;
  return `/apis/${group}/v1/${plural}${name}`;
};

/** Clients always send these. */
const ZEROS = {
  sourceGeneration: 0,
  remoteGeneration: 0,
  syncerStatus: { etcdVersion: 0, cRGenerationId: 0 },
};

/** The calls of all of them, and those of an edge agent up to its first tick. */
export class OldPrograms {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  send(...call: Parameters<Send>): Promise<TreeReply> {
    return this.#send(...call);
  }

  get(kind: KindName, path: Path): Promise<TreeReply> {
    return this.#send("GET", at(kind, path));
  }

  async read(kind: KindName, path: Path): Promise<Shown> {
    return (await this.get(kind, path)).body as unknown as Shown;
  }

  /** The first calls of an informer. */
  async list(kind: KindName): Promise<readonly Shown[]> {
    const { body } = await this.#send("GET", `${at(kind)}?limit=500&resourceVersion=0`);
    return body["items"] as readonly Shown[];
  }

  post(kind: KindName, path: Path, more: object = {}): Promise<TreeReply> {
    return this.#send("POST", at(kind), {
      metadata: {
        name: hashName(KINDS[kind], path),
        creationTimestamp: null,
        labels: treeLabels(KINDS[kind], path),
      },
      ...more,
      status: { nexus: ZEROS },
    });
  }

  /** The body has the kind in lower case, and a spec of zeros. */
  async putStatus(kind: KindName, path: Path, state: object): Promise<TreeReply> {
    const { metadata } = await this.read(kind, path);
    return this.#send("PUT", `${at(kind, path)}/status`, {
      apiVersion: `${KINDS[kind].group}/v1`,
      kind: KINDS[kind].plural,
      metadata,
      spec: { jobId: 0, powerNeeded: 0, creationTime: 0 },
      status: { state, nexus: ZEROS },
    });
  }

  async makeGroup(group: string): Promise<void> {
    expect([201, 409]).toContain((await this.post("Jobgroup", [group])).status);
  }

  /** dminit, then one edge of a site, up to the status that it writes once. */
  async startEdgeAgent(site: string, edge = site): Promise<void> {
    expect((await this.get("PowerScheduler", [])).status).toBe(200);
    for (const kind of ["Config", "DesiredSiteConfig", "Inventory"] as const) {
      expect((await this.post(kind, [])).status).toBe(409);
      expect((await this.get(kind, [])).status).toBe(200);
    }
    for (const kind of ["Site", "SiteDC"] as const) {
      if ((await this.get(kind, [site])).status === 404) await this.post(kind, [site]);
    }
    expect([201, 409]).toContain((await this.post("Edge", [site, edge])).status);
    if ((await this.get("EdgeDC", [site, edge])).status === 404) {
      await this.post("EdgeDC", [site, edge]);
    }
    const powerInfo = { totalPowerAvailable: 100, freePowerAvailable: 0 };
    const { status, body } = await this.putStatus("Edge", [site, edge], { powerInfo });
    expect({ status, kind: body["kind"] }).toEqual({ status: 200, kind: "Edge" });
  }
}
