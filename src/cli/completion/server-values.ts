import type { BusbarClient } from "../../client/client.ts";
import { limits } from "../../limits.ts";

/** Values that only the server knows: ids of jobs, and names. */
export const valueKinds = ["jobs", "nodes", "groups", "clusters", "services"] as const;
export type ValueKind = (typeof valueKinds)[number];

/** The user waits for the completion: after this time it offers nothing. */
export const VALUES_MS_MAX = 700;

/** Arguments of a command and of its subcommands, by its name. */
const ARGUMENTS: Readonly<Record<string, ValueKind>> = {
  job: "jobs",
  tasks: "jobs",
  logs: "jobs",
  cancel: "jobs",
  wait: "jobs",
  hold: "jobs",
  release: "jobs",
  requeue: "jobs",
  rerun: "jobs",
  update: "jobs",
  explain: "jobs",
  watch: "jobs",
  nodes: "nodes",
  groups: "groups",
  cluster: "clusters",
  services: "services",
  scale: "services",
};

const FLAGS: Readonly<Record<string, ValueKind>> = {
  "--node": "nodes",
  "--group": "groups",
  "--cluster": "clusters",
  "--after-ok": "jobs",
  "--after-any": "jobs",
  "--after-not-ok": "jobs",
  "--after": "jobs",
};

/** `path`: the names of a command and of those above it, without the program's. */
export const argumentKind = ([noun = ""]: readonly string[]): ValueKind | undefined =>
  Object.hasOwn(ARGUMENTS, noun) ? ARGUMENTS[noun] : undefined;

/** `--after` of `busbar watch` is a revision: only flags with names or ids count. */
export const flagKind = (flag: string, [noun]: readonly string[]): ValueKind | undefined =>
  Object.hasOwn(FLAGS, flag) && !(flag === "--after" && noun === "watch") ? FLAGS[flag] : undefined;

/** The newest jobs, and a page of everything else: no user looks through more by pressing Tab. */
const JOBS_OFFERED = 100;

export async function readValues(
  client: BusbarClient,
  kind: ValueKind,
): Promise<readonly string[]> {
  const within = { timeoutMs: VALUES_MS_MAX };
  const pageSize = limits.pageSizeMax;
  switch (kind) {
    case "jobs":
      return (await client.listJobs({ pageSize: JOBS_OFFERED }, within)).jobs.map(({ id }) => id);
    case "nodes":
      return (await client.listNodes({ pageSize }, within)).nodes.map(({ name }) => name);
    case "groups":
      return (await client.listGroups({}, within)).groups.map(({ name }) => name);
    case "clusters":
      return (await client.listClusters({}, within)).clusters.map(({ name }) => name);
    case "services":
      return (await client.listServices({ pageSize }, within)).services.map(({ name }) => name);
  }
}
