import { KINDS } from "../model/kinds.ts";
import { DISPLAY_NAME } from "../model/names.ts";
import { at, type OldPrograms, type Shown, type TreeReply } from "./old-programs.ts";

const displayOf = ({ metadata }: Shown): string => metadata.labels[DISPLAY_NAME] ?? "";
const labelOf = ({ metadata }: Shown, kind: keyof typeof KINDS): string =>
  metadata.labels[KINDS[kind].crd] ?? "";
const progressOf = ({ status }: Shown): number => Number(status.state["progress"] ?? 0);

interface Execution {
  readonly powerRequested: number;
  readonly startTime: number;
  readonly endTime: number;
  readonly progress: number;
}
const executionOf = ({ status }: Shown): Readonly<Record<string, Execution>> =>
  (status.state["execution"] ?? {}) as Record<string, Execution>;

/** A job that it assigned to an edge, and the answer. */
export interface Given {
  readonly job: string;
  readonly edge: string;
  readonly made: TreeReply;
  readonly told: TreeReply;
}

/** The old scheduler, as observed: its reads and writes, in its order. */
export class OldScheduler {
  readonly #tree: OldPrograms;
  /** Called between two of its calls. */
  readonly #between: () => Promise<void>;

  constructor(tree: OldPrograms, between: () => Promise<void> = async () => undefined) {
    this.#tree = tree;
    this.#between = between;
  }

  /** Labels sites with the first group, then assigns the oldest jobs, whole, to free edges. */
  async reconcile(nowS = 1_700_000_000): Promise<readonly Given[]> {
    const [first] = (await this.#tree.list("Jobgroup")).map(displayOf);
    if (first === undefined) return [];
    for (const site of await this.#tree.list("SiteDC")) await this.#label(site, first);
    const infos = await this.#tree.list("JobInfo");
    const isBusy = (edge: Shown): boolean =>
      infos.some(
        (info) =>
          labelOf(info, "SiteDC") === labelOf(edge, "SiteDC") &&
          labelOf(info, "EdgeDC") === displayOf(edge) &&
          progressOf(info) < 100,
      );
    const edges = (await this.#tree.list("EdgeDC")).filter((edge) => !isBusy(edge));
    const jobs = (await this.#tree.list("Job"))
      .filter((job) => Number(job.status.state["percentCompleted"]) < 100 && isUnassigned(job))
      .toSorted((a, b) => Number(a.spec["creationTime"]) - Number(b.spec["creationTime"]));
    const given: Given[] = [];
    for (const [n, job] of jobs.slice(0, edges.length).entries()) {
      const edge = edges[n];
      if (edge !== undefined) given.push(await this.#give(job, edge, nowS));
    }
    return given;
  }

  /** If this fails the program deletes the SiteDC, with all below it, and ends. */
  async #label(site: Shown, group: string): Promise<void> {
    const { labels } = site.metadata;
    if (labels[KINDS.Jobgroup.crd] === group) return;
    const { status } = await this.#tree.send(
      "PATCH",
      at("SiteDC", [displayOf(site)]),
      [
        {
          op: "replace",
          path: "/metadata/labels",
          value: { ...labels, [KINDS.Jobgroup.crd]: group },
        },
        { op: "replace", path: "/metadata/finalizers", value: null },
      ],
      { "content-type": "application/json-patch+json" },
    );
    if (status !== 200) throw new Error(`the patch of a label was answered ${status}`);
  }

  /** The share is the whole job, even where a part of it is done; the scheduler updates the job in any case. */
  async #give(job: Shown, edge: Shown, nowS: number): Promise<Given> {
    const [name, to] = [displayOf(job), displayOf(edge)];
    const [group, site] = [labelOf(job, "Jobgroup"), labelOf(edge, "SiteDC")];
    const powerNeeded = job.spec["powerNeeded"];
    const spec = { requestorJob: name, requestorJobGroup: group, powerNeeded };
    const made = await this.#tree.post("JobInfo", [site, to, `${name}-${to}`], { spec });
    await this.#between();
    const begun = { powerRequested: powerNeeded, startTime: 0, endTime: 0, progress: 0 };
    const state = {
      ...job.status.state,
      startTime: nowS,
      endTime: nowS,
      execution: { ...executionOf(job), [`${name}-${to}`]: begun },
    };
    const told = await this.#tree.putStatus("Job", [group, name], state);
    return { job: name, edge: to, made, told };
  }

  /** When it sees a finished share, it updates the job, which then counts as done as a whole, and deletes the share. */
  async shareIsDone(info: Shown): Promise<readonly number[]> {
    const path = [labelOf(info, "SiteDC"), labelOf(info, "EdgeDC"), displayOf(info)];
    const now = await this.#tree.get("JobInfo", path);
    if (now.status === 404) return [now.status];
    const { spec, status } = now.body as unknown as Shown;
    const { requestorJob, requestorJobGroup, powerNeeded } = spec;
    const job = [String(requestorJobGroup), String(requestorJob)];
    const known = await this.#tree.read("Job", job);
    const done = { powerRequested: powerNeeded, ...status.state };
    const execution = { ...executionOf(known), [displayOf(info)]: done };
    const state = { ...known.status.state, percentCompleted: 100, execution };
    const told = await this.#tree.putStatus("Job", job, state);
    await this.#between();
    const gone = await this.#tree.send("DELETE", at("JobInfo", path), {
      kind: "DeleteOptions",
      apiVersion: `${KINDS.JobInfo.group}/v1`,
    });
    return [told.status, gone.status];
  }

  /** Every four seconds. */
  async tellStatistics(): Promise<number> {
    const totalJobsExecuted = { totalJobsProcessed: 28, totalPowerProcessed: 0 };
    const counts = { jobsQueued: 9, jobsRunning: 9, busyEdges: 9, freeEdges: 9 };
    const state = { totalJobsExecuted, ...counts, jobRate1Min: 125, jobRate10Sec: 0 };
    return (await this.#tree.putStatus("SchedulerConfig", [], state)).status;
  }
}

const isUnassigned = (job: Shown): boolean => {
  const assigned = Object.values(executionOf(job)).map(({ powerRequested }) => powerRequested);
  const sum = assigned.reduce((total, power) => total + power, 0);
  return Number(job.spec["powerNeeded"]) > sum;
};
