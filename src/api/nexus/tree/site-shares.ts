import type { EdgeShare } from "../model/project.ts";

interface SiteCounts {
  /** The number of shares of each group. */
  readonly groups: Map<string, number>;
  /** Shares of jobs not named `job-<n>`. */
  others: number;
}

/** Counts the shares under way at each site by their groups: a site may have thousands of edges. */
export class SiteShares {
  readonly #counts = new Map<string, SiteCounts>();

  add(share: EdgeShare): void {
    this.#count(share, 1);
  }

  remove(share: EdgeShare): void {
    this.#count(share, -1);
  }

  #count({ site, job }: EdgeShare, by: 1 | -1): void {
    let counts = this.#counts.get(site);
    if (counts === undefined) this.#counts.set(site, (counts = { groups: new Map(), others: 0 }));
    const count = (counts.groups.get(job.group) ?? 0) + by;
    if (count === 0) counts.groups.delete(job.group);
    else counts.groups.set(job.group, count);
    if (!/^job-\d+$/.test(job.display)) counts.others += by;
    if (counts.groups.size === 0) this.#counts.delete(site);
  }

  /**
   * The group of all of them; without shares, the group that an external scheduler last wrote. Undefined: there is no such group. An old
   * requester looks for the group, and ends itself when it then finds jobs not named `job-<n>`: so the tree does not show it beside such
   * jobs, whoever wrote it.
   */
  groupOf(site: string, given: string | undefined): string | undefined {
    const counts = this.#counts.get(site);
    if (counts === undefined) return given;
    if (counts.groups.size !== 1 || counts.others > 0) return undefined;
    const [only] = counts.groups.keys();
    return only;
  }
}
