import { afterEach, beforeEach, expect, test } from "vitest";
import { LOCAL } from "../../../core/access/principal.ts";
import { eventually } from "../../../testing/eventually.ts";
import { anObedientAgent } from "../../../testing/fake-agent.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { GraphqlEngine } from "../../native/graphql/engine.ts";
import { CHILDREN } from "../model/children.ts";
import { ALL_KINDS, KINDS } from "../model/kinds.ts";
import { hashName } from "../model/names.ts";
import { aNexusBed } from "../testing/nexus-bed.ts";
import { nexusExtension } from "./extension.ts";
import { typeName } from "./types.ts";

let bed: Awaited<ReturnType<typeof aNexusBed>>;
let engine: GraphqlEngine;
beforeEach(async () => {
  bed = await aNexusBed();
  engine = new GraphqlEngine(silentLogger, [nexusExtension(bed.routes)]);
});
afterEach(() => bed.close());

async function ask(query: string, variables = {}): Promise<unknown> {
  const prepared = engine.prepare({ query, variables });
  const { data, errors } = await engine.run(prepared, bed.plane.operations.as(LOCAL));
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join("; "));
  return data;
}

/** The names that clients of the tree use. */
const submit = (name: string, group: string) =>
  bed.plane.operations.submitJobs(
    [{ spec: { name, group, command: ["true"], labels: { "nexus.job-id": "7" } } }],
    { allowUnsatisfiable: true },
  );

test("the query of the old system runs unchanged", async () => {
  await submit("job-1", "DefaultGroup");
  await submit("job-2", "DefaultGroup");
  const query =
    '{ root { Config { JobGroups(Id:"DefaultGroup") { Id Jobs(Id:"job-1") { Id JobId PowerNeeded } } } } }';
  await eventually(async () => JSON.stringify(await ask(query)).includes("job-1"), {
    what: "the job in the tree",
  });
  expect(await ask(query)).toEqual({
    root: {
      Config: {
        JobGroups: [{ Id: "DefaultGroup", Jobs: [{ Id: "job-1", JobId: 7, PowerNeeded: 0 }] }],
      },
    },
  });
});

test("every kind is a type with its name, spec, status and children", () => {
  for (const kind of ALL_KINDS) {
    const type = engine.schema.getType(typeName(kind));
    expect(type, kind.kind).toBeDefined();
    const fields = Object.keys((type as { getFields(): object } | undefined)?.getFields() ?? {});
    expect(fields).toEqual(expect.arrayContaining(["Id", "ParentLabels", "Name"]));
    expect(fields).toEqual(expect.arrayContaining(CHILDREN[kind.kind].map(({ field }) => field)));
  }
  const sites = CHILDREN.Inventory.map(({ field, kind }) => `${field}: ${kind.kind}`);
  expect(sites).toEqual(["Site: Site"]);
  expect(CHILDREN.Config.map(({ field, kind }) => `${field}: ${kind.kind}`)).toEqual([
    "JobGroups: Jobgroup",
    "Scheduler: SchedulerConfig",
  ]);
});

test("all twelve kinds can be reached from the root, with status, labels and hashed names", async () => {
  await anObedientAgent(bed.plane);
  await submit("job-1", "g");
  const query = `{ root { Id
    Config { Id ParentLabels Scheduler { Status { JobsQueued FreeEdges BusyEdgesPerSite TotalJobsExecuted { TotalJobsProcessed } } }
      JobGroups { Id Jobs { Id Name Status { PercentCompleted Execution { Name Progress } } } } }
    Inventory { Site { Id ParentLabels Edges { Id Name ResourceVersion Status { PowerInfo { TotalPowerAvailable } CurrentJob } } } }
    DesiredSiteConfig { SitesDC { Id EdgesDC { Id JobsInfo { Id RequestorJob Status { Progress } } } } }
  } }`;
  await eventually(
    async () => JSON.stringify(await ask(query)).includes('"PercentCompleted":100'),
    {
      what: "the end of the job",
    },
  );
  const { operations } = bed.plane;
  const [node] = (await operations.listNodes({}, {})).nodes;
  const { cluster = "", name = "" } = node ?? {};
  expect(await ask(query)).toMatchObject({
    root: {
      Id: "default",
      Config: {
        ParentLabels: {
          "powerschedulers.root.intel.com": "default",
          "configs.config.intel.com": "default",
        },
        Scheduler: { Status: { JobsQueued: 0, TotalJobsExecuted: { TotalJobsProcessed: 1 } } },
        JobGroups: [
          {
            Id: "g",
            Jobs: [
              { Id: "job-1", Name: hashName(KINDS.Job, ["g", "job-1"]), Status: { Execution: [] } },
            ],
          },
        ],
      },
      Inventory: {
        Site: [
          {
            Id: cluster,
            ParentLabels: { "sites.site.intel.com": cluster },
            Edges: [{ Id: name, Status: { CurrentJob: "" } }],
          },
        ],
      },
      DesiredSiteConfig: { SitesDC: [{ Id: cluster, EdgesDC: [{ Id: name, JobsInfo: [] }] }] },
    },
  });
});

test("supports pages and selectors, and returns nothing for missing objects", async () => {
  for (let at = 0; at < 5; at++) await submit(`job-${at}`, "g");
  await submit("other", "h");
  const page = `query($from: String) { root { Config { JobGroups(Id: "g") {
    JobsPage(Limit: 2, Continue: $from) { Items { Id } Continue } } } } }`;
  interface Page {
    readonly root: {
      readonly Config: {
        readonly JobGroups: readonly {
          readonly JobsPage: {
            readonly Items: readonly { Id: string }[];
            readonly Continue: string | null;
          };
        }[];
      };
    };
  }
  const seen: string[] = [];
  let from: string | null | undefined;
  do {
    const { root } = (await ask(page, { from })) as Page;
    const { Items = [], Continue } = root.Config.JobGroups[0]?.JobsPage ?? {};
    seen.push(...Items.map(({ Id }) => Id));
    from = Continue;
  } while (typeof from === "string");
  expect(seen.sort()).toEqual(["job-0", "job-1", "job-2", "job-3", "job-4"]);
  const selected = `{ root { Config { JobGroups(Id: "g") {
    Jobs(LabelSelector: "nexus/display_name in (job-1,job-3)") { Id } } } } }`;
  expect(
    JSON.stringify(await ask(selected))
      .match(/job-\d/g)
      ?.sort(),
  ).toEqual(["job-1", "job-3"]);
  expect(await ask('{ root { Inventory { Site(Id: "nowhere") { Id } } } }')).toEqual({
    root: { Inventory: { Site: [] } },
  });
  await expect(
    ask('{ root { Config { JobGroups(LabelSelector: "a b") { Id } } } }'),
  ).rejects.toThrow("labelSelector");
});

test("mutations create and delete objects of the tree, within the caller's permissions", async () => {
  const made = await ask(`mutation {
    create_jobscheduler_Job(Jobgroup: "g", Id: "job-9", JobId: 9, PowerNeeded: 40) { Id PowerNeeded ParentLabels }
  }`);
  expect(made).toMatchObject({
    create_jobscheduler_Job: {
      Id: "job-9",
      PowerNeeded: 40,
      ParentLabels: { "jobgroups.jobgroup.intel.com": "g" },
    },
  });
  await expect(
    ask('mutation { create_jobscheduler_Job(Jobgroup: "g", Id: "job-9") { Id } }'),
  ).rejects.toThrow("already exists");
  expect(await ask('mutation { delete_jobscheduler_Job(Jobgroup: "g", Id: "job-9") }')).toEqual({
    delete_jobscheduler_Job: true,
  });
  await expect(
    ask('mutation { delete_jobscheduler_Job(Jobgroup: "g", Id: "job-9") }'),
  ).rejects.toThrow("not found");
});

test("subscriptions show jobs and edges as in events, and no others", async () => {
  await submit("job-1", "g");
  await eventually(() => bed.reader.tree.job("1") !== undefined, { what: "the job in the tree" });
  const job = await bed.plane.operations.getJob("1");
  const shown = (query: string, event: unknown) =>
    engine.event(engine.prepare({ query, variables: {} }), event);
  const event = { kind: "job", revision: 5, job };
  expect(
    shown('subscription { Job(JobGroup: "g") { Id Status { PercentCompleted } } }', event),
  ).toEqual({
    data: { Job: { Id: "job-1", Status: { PercentCompleted: 0 } } },
  });
  expect(shown('subscription { Job(Id: "another") { Id } }', event)).toBeUndefined();
  expect(shown("subscription { Edge { Id } }", event)).toBeUndefined();
});
