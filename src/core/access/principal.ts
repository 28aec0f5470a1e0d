/**
 * Who makes a request. Doors establish it from facts that a caller cannot forge: the address of the
 * connection, a verified credential, or the fact that the request comes from this process. A name that
 * a caller gives itself is not a principal.
 */
export type Principal =
  /** A process on this machine, over loopback: the server does not know which user runs it. */
  | { readonly kind: "local" }
  /** A client on another machine that reaches a port that is open to the network. */
  | { readonly kind: "network"; readonly address: string }
  /** The server itself: its start, and agents in its process. */
  | { readonly kind: "server" }
  /** Has the register secret. */
  | { readonly kind: "registrar" }
  /** Has the secret of this cluster. */
  | { readonly kind: "cluster"; readonly cluster: string }
  /** Has tokens of these clusters. */
  | Submitter
  | AgentPrincipal
  /** A worker or client of go-schedule, whose wire has no credentials. */
  | { readonly kind: "go-schedule" }
  | RikPrincipal
  | UserPrincipal
  /** Sends no credential, where one could be sent. */
  | { readonly kind: "anonymous" };

/** A worker, a controller or a user of rik. */
export interface RikPrincipal {
  readonly kind: "rik";
  /** As its credential proves; absent: none is required. */
  readonly name?: string;
}

/** A user whom an OpenID provider has authenticated. */
export interface UserPrincipal {
  readonly kind: "user";
  readonly name: string;
}

/** An agent that holds the key of this node. */
export interface AgentPrincipal {
  readonly kind: "agent";
  readonly node: string;
  /** The pull cluster whose agent it is; absent: it is the agent of its node only. */
  readonly cluster?: string;
}

export interface Submitter {
  readonly kind: "submitter";
  readonly clusters: readonly string[];
}

// One object each: values prepared for a principal are cached by its identity.
export const LOCAL: Principal = { kind: "local" };
export const SERVER: Principal = { kind: "server" };
export const REGISTRAR: Principal = { kind: "registrar" };
export const GO_SCHEDULE: Principal = { kind: "go-schedule" };
export const ANONYMOUS: Principal = { kind: "anonymous" };

/** The name that is stored with a change. */
export function nameOf(principal: Principal): string {
  switch (principal.kind) {
    case "network":
      return `address:${principal.address}`;
    case "cluster":
      return `cluster:${principal.cluster}`;
    case "agent":
      return agentOf(principal.node);
    case "rik":
      return principal.name === undefined ? principal.kind : `rik:${principal.name}`;
    case "user":
      return `user:${principal.name}`;
    case "submitter": {
      const [only, ...others] = principal.clusters;
      return only === undefined || others.length > 0 ? "submitter" : submitterTo(only);
    }
    case "local":
    case "server":
    case "registrar":
    case "go-schedule":
    case "anonymous":
      return principal.kind;
  }
}

/** The same with only its token of this cluster; without any if it has none. */
export const narrowTo = (cluster: string, { clusters }: Submitter): Submitter => ({
  kind: "submitter",
  clusters: clusters.filter((name) => name === cluster),
});

/** The name of the agent that holds the key of a node. */
export const agentOf = (node: string): string => `agent:${node}`;

/** The name of a caller that submits with the token of one cluster. */
export const submitterTo = (cluster: string): string => `submitter:${cluster}`;
