import { AppError } from "../../lib/errors.ts";
import { nameOf, type Principal, submitterTo } from "./principal.ts";

/** All permissions. Closed: each operation needs exactly one of them. */
export const PERMISSIONS = [
  "jobs.submit",
  "jobs.read",
  "jobs.cancel",
  "jobs.change",
  "tasks.report",
  "tasks.assign",
  "output.read",
  "watch",
  "placement.read",
  "documents.read",
  "nodes.read",
  "nodes.manage",
  "clusters.read",
  "clusters.register",
  "clusters.report",
  "clusters.delete",
  "tasks.pull",
  "credentials.read",
  "credentials.manage",
  "groups.read",
  "groups.manage",
  "services.read",
  "services.manage",
  "agents.connect",
  "agents.report",
  "stats.read",
  "health.read",
  "backup",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLES = [
  "admin",
  "registrar",
  "cluster",
  "submitter",
  "agent",
  "go-schedule",
  "rik",
  "user",
  "anonymous",
] as const;
export type Role = (typeof ROLES)[number];

/** The resource that a request concerns, for roles that may act only on their own resources. */
export type Resource =
  /** Undefined: the job names no cluster and may go to any. */
  | { readonly kind: "clusters"; readonly names: readonly (string | undefined)[] }
  /** Undefined: there is no such job. */
  | { readonly kind: "job"; readonly submittedBy: string | undefined }
  | { readonly kind: "node"; readonly name: string };

/** "own": only with resources that belong to the principal. */
type Scope = "any" | "own";

/**
 * Roles and their permissions: the whole policy. Whoever reaches a port of the native API is admin, as
 * long as there are no users.
 */
const GRANTS: Readonly<Record<Role, Readonly<Partial<Record<Permission, Scope>>>>> = {
  admin: Object.fromEntries(PERMISSIONS.map((permission) => [permission, "any"])),
  registrar: { "clusters.register": "any" },
  cluster: {
    "clusters.read": "own",
    "clusters.report": "own",
    "clusters.delete": "own",
    "tasks.pull": "own",
    "jobs.read": "own",
    "jobs.cancel": "own",
  },
  submitter: { "jobs.submit": "own", "placement.read": "any" },
  agent: { "agents.report": "own", "tasks.pull": "own" },
  "go-schedule": {
    "jobs.submit": "any",
    "jobs.read": "any",
    "output.read": "any",
    "nodes.read": "any",
  },
  rik: {
    "jobs.submit": "any",
    "jobs.read": "any",
    "jobs.cancel": "own",
    "nodes.read": "any",
    // Its door names services that it made for the same user.
    "services.read": "any",
    "services.manage": "any",
  },
  // Everything that the REST gateway of nexus offers, without machines, credentials and backups.
  user: {
    "jobs.submit": "any",
    "jobs.read": "any",
    "jobs.cancel": "any",
    "jobs.change": "any",
    "tasks.assign": "any",
    "output.read": "any",
    watch: "any",
    "placement.read": "any",
    "nodes.read": "any",
    "nodes.manage": "any",
    "clusters.read": "any",
    "clusters.delete": "any",
    "groups.read": "any",
    "groups.manage": "any",
    "stats.read": "any",
    "health.read": "any",
  },
  anonymous: { "placement.read": "any", "documents.read": "any", "health.read": "any" },
};

const roleOf = ({ kind }: Principal): Role => ROLE_OF[kind];

const ROLE_OF: Readonly<Record<Principal["kind"], Role>> = {
  local: "admin",
  network: "admin",
  server: "admin",
  registrar: "registrar",
  cluster: "cluster",
  submitter: "submitter",
  agent: "agent",
  "go-schedule": "go-schedule",
  rik: "rik",
  user: "user",
  anonymous: "anonymous",
};

/**
 * Throws `permission_denied` unless the principal has the permission. Looks the resource up only for
 * roles with the scope "own"; without a resource these are denied.
 */
export function authorise(
  principal: Principal,
  permission: Permission,
  resource?: () => Resource,
): void {
  const scope = GRANTS[roleOf(principal)][permission];
  if (scope === "any") return;
  if (scope === undefined) throw lacking(principal, permission);
  const about = resource?.();
  if (about === undefined || !owns(principal, about)) throw foreign(principal, permission);
}

function owns(principal: Principal, resource: Resource): boolean {
  const clusters = clustersOf(principal);
  switch (resource.kind) {
    case "clusters":
      if (resource.names === clusters) return true; // a caller's own list, which may be long
      return resource.names.every((name) => name !== undefined && clusters.includes(name));
    case "job":
      if (principal.kind === "rik") return resource.submittedBy === nameOf(principal);
      return clusters.some((cluster) => resource.submittedBy === submitterTo(cluster));
    case "node":
      return principal.kind === "agent" && principal.node === resource.name;
  }
}

function clustersOf(principal: Principal): readonly string[] {
  if (principal.kind === "submitter") return principal.clusters;
  if (principal.kind !== "cluster" && principal.kind !== "agent") return [];
  return principal.cluster === undefined ? [] : [principal.cluster];
}

const belongingsOf = (principal: Principal): readonly string[] => [
  ...(principal.kind === "agent" ? [`node ${principal.node}`] : []),
  ...(principal.kind === "rik" ? [`the jobs of ${nameOf(principal)}`] : []),
  ...clustersOf(principal).map((name) => `cluster ${name}`),
];

function lacking(principal: Principal, permission: Permission): AppError {
  const roles = ROLES.filter((role) => GRANTS[role][permission] !== undefined);
  return new AppError(
    "permission_denied",
    `${nameOf(principal)} lacks the permission ${permission}, which ` +
      (roles.length === 1 ? `the role ${roles.join()} has` : `the roles ${roles.join(", ")} have`),
  );
}

const foreign = (principal: Principal, permission: Permission): AppError =>
  new AppError(
    "permission_denied",
    `${nameOf(principal)} has the permission ${permission} only for what belongs to ` +
      (belongingsOf(principal).join(", ") || "its clusters"),
  );
