import type { KindName } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import {
  edgeDcObject,
  edgeObject,
  type EdgeShare,
  groupObject,
  jobInfoObject,
  type JobName,
  jobObject,
  singletonObject,
  SITE_GROUP,
  siteDcObject,
  siteObject,
  type SiteRef,
} from "../model/project.ts";
import type { EnergyJobView, PowerNodeView } from "../model/views.ts";
import { type JobShares, NodeShares } from "./job-shares.ts";
import { type KnownNote, NotesBook } from "./notes-book.ts";

/** The tree's data from Busbar's rows, and the objects made from it. */
export class TreeObjects {
  readonly notes = new NotesBook();
  readonly nodes = new Map<string, PowerNodeView>();
  readonly sites = new Map<string, SiteRef>();
  readonly groups = new Map<string, SiteRef>();
  readonly work = new NodeShares();
  /** For objects whose rows do not have their creation time. */
  readonly sinceMs: number;
  /** For objects without a row. */
  sinceRevision = 1;
  protected readonly jobNames = new Map<string, JobName>();
  protected readonly jobShares = new Map<string, JobShares>();
  /** The present state of jobs that have notes of clients. */
  protected readonly primed = new Map<string, EnergyJobView>();

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs;
  }

  sharesOf(job: string): readonly EdgeShare[] {
    return [...(this.jobShares.get(job)?.all ?? [])];
  }

  share(job: string, index: number): EdgeShare | undefined {
    return this.jobShares.get(job)?.at(index);
  }

  jobObject(view: EnergyJobView): NexusObject {
    return jobObject(view, this.sharesOf(view.id), this.notes.of("Job", view.id));
  }

  shareObject(share: EdgeShare): NexusObject {
    return jobInfoObject(share, this.notes.of("JobInfo", share.task.id));
  }

  edgeObject(node: PowerNodeView): NexusObject {
    return edgeObject(node, this.work.of(node.name), this.notes.of("Edge", node.name));
  }

  edgeDcObject(node: PowerNodeView): NexusObject {
    return edgeDcObject(node, this.notes.of("EdgeDC", node.name));
  }

  siteObject(site: SiteRef): NexusObject {
    return siteObject(site, this.notes.of("Site", site.name));
  }

  siteDcObject(site: SiteRef): NexusObject {
    return siteDcObject(site, this.groupOf(site.name), this.siteNotes(site));
  }

  protected siteNotes({ name }: SiteRef): KnownNote | undefined {
    return this.notes.of("SiteDC", name);
  }

  /** The group in the label of a site. */
  protected groupOf(site: string): string | undefined {
    return this.work.groupOf(site, this.notes.of("SiteDC", site)?.labels[SITE_GROUP]);
  }

  groupObject(group: SiteRef): NexusObject {
    return groupObject(group, this.notes.of("Jobgroup", group.name));
  }

  protected objectOf(kind: KindName, id: string): NexusObject | undefined {
    const some = <Of>(of: Of | undefined, show: (of: Of) => NexusObject) => of && show(of);
    switch (kind) {
      case "Job":
        return this.jobNames.has(id)
          ? some(this.primed.get(id), (view) => this.jobObject(view))
          : undefined;
      case "JobInfo": {
        const [job = "", index = "0"] = id.split(".");
        return some(this.share(job, Number(index)), (share) => this.shareObject(share));
      }
      case "Edge":
        return some(this.nodes.get(id), (node) => this.edgeObject(node));
      case "EdgeDC":
        return some(this.nodes.get(id), (node) => this.edgeDcObject(node));
      case "Site":
        return some(this.sites.get(id), (site) => this.siteObject(site));
      case "SiteDC":
        return some(this.sites.get(id), (site) => this.siteDcObject(site));
      case "Jobgroup":
        return some(this.groups.get(id), (group) => this.groupObject(group));
      case "PowerScheduler":
      case "Config":
      case "Inventory":
      case "DesiredSiteConfig":
        return singletonObject(kind, this, this.notes.of(kind, id));
      case "SchedulerConfig":
        return undefined; // its events come every few seconds
    }
  }
}
