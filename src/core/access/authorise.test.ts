import { describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { authorise, type Permission, PERMISSIONS, type Resource } from "./authorise.ts";
import {
  ANONYMOUS,
  GO_SCHEDULE,
  LOCAL,
  nameOf,
  type Principal,
  REGISTRAR,
  SERVER,
} from "./principal.ts";

const cluster: Principal = { kind: "cluster", cluster: "blue" };
const agent: Principal = { kind: "agent", node: "w1" };
const speaker: Principal = { ...agent, cluster: "blue" };
const submitter: Principal = { kind: "submitter", clusters: ["blue", "green"] };
const ONE_OF_EACH: Readonly<Record<Principal["kind"], Principal>> = {
  local: LOCAL,
  network: { kind: "network", address: "10.0.0.5" },
  server: SERVER,
  registrar: REGISTRAR,
  cluster,
  submitter,
  agent: { kind: "agent", node: "w1", cluster: "blue" },
  "go-schedule": GO_SCHEDULE,
  rik: { kind: "rik", name: "web" },
  user: { kind: "user", name: "alice" },
  anonymous: ANONYMOUS,
};

/** The expected policy. "own": only on resources of their own. Everything that is not listed is denied. */
const ADMINS = "local network server";
const MAY: Readonly<Record<Permission, string>> = {
  "jobs.submit": `${ADMINS} submitter:own go-schedule rik user`,
  "jobs.read": `${ADMINS} cluster:own go-schedule rik user`,
  "jobs.cancel": `${ADMINS} cluster:own rik:own user`,
  "jobs.change": `${ADMINS} user`,
  "tasks.report": ADMINS,
  "tasks.assign": `${ADMINS} user`,
  "output.read": `${ADMINS} go-schedule user`,
  watch: `${ADMINS} user`,
  "placement.read": `${ADMINS} submitter anonymous user`,
  "documents.read": `${ADMINS} anonymous`,
  "nodes.read": `${ADMINS} go-schedule rik user`,
  "nodes.manage": `${ADMINS} user`,
  "clusters.read": `${ADMINS} cluster:own user`,
  "clusters.register": `${ADMINS} registrar`,
  "clusters.report": `${ADMINS} cluster:own`,
  "clusters.delete": `${ADMINS} cluster:own user`,
  "tasks.pull": `${ADMINS} cluster:own agent:own`,
  "credentials.read": ADMINS,
  "credentials.manage": ADMINS,
  "groups.read": `${ADMINS} user`,
  "groups.manage": `${ADMINS} user`,
  "services.read": `${ADMINS} rik`,
  "services.manage": `${ADMINS} rik`,
  "agents.connect": ADMINS,
  "agents.report": `${ADMINS} agent:own`,
  "stats.read": `${ADMINS} user`,
  "health.read": `${ADMINS} anonymous user`,
  backup: ADMINS,
};

const isAllowed = (principal: Principal, permission: Permission, resource?: Resource): boolean => {
  try {
    authorise(principal, permission, resource && (() => resource));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({ code: "permission_denied" });
    return false;
  }
};

const inBlue: Resource = { kind: "clusters", names: ["blue"] };
const jobOfBlue: Resource = { kind: "job", submittedBy: "submitter:blue" };
const itsNode: Resource = { kind: "node", name: "w1" };

function ownOf(kind: string, permission: Permission): Resource {
  if (permission === "agents.report") return itsNode;
  if (kind === "rik") return { kind: "job", submittedBy: "rik:web" };
  return permission.startsWith("jobs.") && kind === "cluster" ? jobOfBlue : inBlue;
}

describe("every permission and every kind of principal", () => {
  for (const permission of PERMISSIONS) {
    const granted = MAY[permission].split(" ");
    for (const [kind, principal] of Object.entries(ONE_OF_EACH)) {
      const scope = granted.includes(kind) ? "any" : granted.includes(`${kind}:own`) && "own";
      test(`${kind}, ${permission}: ${scope || "denied"}`, () => {
        expect(isAllowed(principal, permission)).toBe(scope === "any");
        expect(isAllowed(principal, permission, ownOf(kind, permission))).toBe(scope !== false);
      });
    }
  }
});

describe("own resources", () => {
  const clusters = (...names: (string | undefined)[]): Resource => ({ kind: "clusters", names });
  const cases: readonly [string, Principal, Permission, Resource, boolean][] = [
    ["its cluster", cluster, "clusters.report", clusters("blue"), true],
    ["another cluster", cluster, "clusters.report", clusters("green"), false],
    ["both", cluster, "clusters.report", clusters("blue", "green"), false],
    ["one of its clusters", submitter, "jobs.submit", clusters("green"), true],
    ["all of its clusters", submitter, "jobs.submit", clusters("green", "blue"), true],
    ["no cluster is named", submitter, "jobs.submit", clusters("green", undefined), false],
    ["a job for its cluster", cluster, "jobs.cancel", jobOfBlue, true],
    ["another's job", cluster, "jobs.cancel", { kind: "job", submittedBy: "local" }, false],
    ["no job", cluster, "jobs.cancel", { kind: "job", submittedBy: undefined }, false],
    ["its node", agent, "agents.report", itsNode, true],
    ["another node", agent, "agents.report", { kind: "node", name: "w2" }, false],
    ["the cluster of its node", agent, "tasks.pull", clusters("blue"), false],
    ["the cluster it speaks for", speaker, "tasks.pull", clusters("blue"), true],
    ["another cluster than that", speaker, "tasks.pull", clusters("green"), false],
  ];
  for (const [name, principal, permission, resource, expected] of cases) {
    test(name, () => expect(isAllowed(principal, permission, resource)).toBe(expected));
  }

  test("the resource is looked up only for roles with the scope own", () => {
    const looked = (): Resource => {
      throw new Error("looked up");
    };
    expect(() => authorise(LOCAL, "jobs.cancel", looked)).not.toThrow();
    expect(() => authorise(ANONYMOUS, "jobs.cancel", looked)).toThrow("lacks the permission");
    expect(() => authorise(cluster, "jobs.cancel", looked)).toThrow("looked up");
  });
});

test("a rejection names the principal, the permission and the roles that have it", () => {
  expect(() => authorise(cluster, "clusters.register")).toThrow(
    "cluster:blue lacks the permission clusters.register, which the roles admin, registrar have",
  );
  expect(() => authorise(ANONYMOUS, "backup")).toThrow(
    "anonymous lacks the permission backup, which the role admin has",
  );
  expect(() => authorise(submitter, "jobs.submit", () => inBlue)).not.toThrow();
  expect(() => authorise(agent, "tasks.pull", () => inBlue)).toThrow(
    "agent:w1 has the permission tasks.pull only for what belongs to node w1",
  );
  expect(() => authorise(submitter, "jobs.submit")).toThrow(
    "submitter has the permission jobs.submit only for what belongs to cluster blue, cluster green",
  );
});

test("principals have the names that are stored with changes", () => {
  expect(Object.values(ONE_OF_EACH).map(nameOf)).toEqual([
    "local",
    "address:10.0.0.5",
    "server",
    "registrar",
    "cluster:blue",
    "submitter",
    "agent:w1",
    "go-schedule",
    "rik:web",
    "user:alice",
    "anonymous",
  ]);
  expect(nameOf({ kind: "rik" })).toBe("rik");
  expect(nameOf({ kind: "submitter", clusters: ["blue"] })).toBe("submitter:blue");
});
