import { toJobSpec } from "../../../core/model/job-spec.ts";
import { showSpec } from "../../../server/show.ts";
import type { Operations } from "../../../server/operations.ts";
import type { OfferedTaskView, RainbowOperations } from "../operations.ts";

/** Operations of a real plane, with credentials that are plain texts and offers kept in a list. */
export interface FakeRainbow extends RainbowOperations {
  readonly offered: OfferedTaskView[];
  /** Who asked for what was changed. */
  readonly callers: string[];
}

export const REGISTER_SECRET = "chocolate-cookies";
/** What a cluster is given when it is registered. */
export const secretOf = (cluster: string): string => `secret-of-${cluster}`;
export const tokenOf = (cluster: string): string => `token-of-${cluster}`;

export function fakeRainbow(plane: Operations): FakeRainbow {
  const offered: OfferedTaskView[] = [];
  const callers: string[] = [];
  const known = new Set<string>();
  return {
    ...plane,
    offered,
    callers,
    async registerCluster(caller, input) {
      callers.push(caller.name);
      const { cluster } = await plane.registerCluster(caller, input);
      known.add(input.name);
      const credentials = { secret: secretOf(input.name), token: tokenOf(input.name) };
      return { cluster, ...(input.withCredentials === true && { credentials }) };
    },
    async checkCredential(which, secret) {
      if (which.kind === "register") return secret === REGISTER_SECRET;
      const right = which.kind === "cluster-secret" ? secretOf : tokenOf;
      return known.has(which.cluster) && secret === right(which.cluster);
    },
    async submitJobs(caller, jobs, options) {
      callers.push(caller.name);
      const answer = await plane.submitJobs(caller, jobs, options);
      for (const [at, { spec }] of [...jobs].entries()) {
        const id = answer.jobs[at]?.id ?? "";
        offered.push({ id, attempt: 1, offeredAtMs: 0, spec: showSpec(toJobSpec(spec)) });
      }
      return answer;
    },
    async listOffered(_cluster, max) {
      return { tasks: offered.slice(0, max) };
    },
    async acceptTasks(caller, _cluster, ids) {
      callers.push(caller.name);
      const accepted = ids.filter((id) => {
        const at = offered.findIndex((task) => task.id === id);
        if (at >= 0) offered.splice(at, 1);
        return at >= 0;
      });
      return { accepted, refused: [], revision: 1 };
    },
  };
}
