import { Type } from "typebox";
import type { StateValue } from "../../../../core/graph/cluster-state.ts";
import {
  amounts,
  flag,
  list,
  named,
  number,
  object,
  oneOf,
  optional,
  text,
  timeMs,
  whole,
} from "./schema.ts";

// What requests and answers about clusters look like.

const DOCUMENT = "A JSON Graph Format document, version 2";
const revision = () => whole("Number of the latest change when this was answered");
const kind = () =>
  oneOf(["managed", "pulling"], "managed: its nodes have agents; pulling: registered");
const names = (description: string) => list(Type.String(), { description });

/** A number, a text, or true or false. */
const value = (types: readonly string[], description: string) =>
  Type.Unsafe<StateValue>({ type: types, description });
const SCALARS = ["number", "string", "boolean"];

const counter = object({
  key: text("A key of its state that goes down as jobs are assigned"),
  by: oneOf(["nodes", "slots", "jobs"], "By the job's nodes, by its slots, or by one"),
});

const issued = () =>
  object(
    {
      secret: optional(text("For whoever speaks for the cluster")),
      token: optional(text("For those who may submit to it")),
    },
    { description: "Texts that are told once, when they are made" },
  );

export const Cluster = object(
  {
    name: text("Name"),
    kind: kind(),
    createdAtMs: timeMs("When it was registered, or its first node came"),
    registeredBy: optional(text("Who registered it")),
    nodes: whole("How many nodes with agents it has"),
    nodesConnected: whole("How many of them are connected"),
    capacity: amounts("What its connected nodes have"),
    used: amounts("What its tasks use"),
    tasks: whole("Tasks assigned, running or stopping there"),
    vertices: amounts("What its graph has: how many pieces of each type"),
    subsystems: list(
      object({
        name: text("Name"),
        vertices: whole("How many it has"),
        links: whole("How many links from vertices of the cluster's graph"),
      }),
      { description: "What is linked to its graph, by name" },
    ),
    state: list(
      object({
        key: text("Key"),
        value: value(SCALARS, "A number, a text, true or false"),
        setAtMs: timeMs("When it was told"),
      }),
      { description: "What it says of itself, by key" },
    ),
    counters: list(counter, { description: "Keys that go down as jobs are assigned" }),
    credentials: object(
      {
        secretSinceMs: optional(timeMs("When its secret was made; absent: it has none")),
        tokenSinceMs: optional(timeMs("When its token was made; absent: it has none")),
      },
      { description: "Which it has; their texts are not known any more" },
    ),
    issued: optional(issued()),
  },
  { $id: "Cluster" },
);
export const Clusters = object({ clusters: list(named(Cluster)), revision: revision() });

/** Sent as it is. */
/** Sent as the text it is. */
export const GraphText = Type.Unsafe<string>({ type: "object", description: DOCUMENT });

export const RegisterBody = object({
  name: text("Name of the cluster"),
  graph: Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: "object",
    description: `${DOCUMENT}, or what it has under \`graph\``,
  }),
  update: optional(flag("Give a cluster that is there another graph; its subsystems stay")),
  withCredentials: optional(flag("Make a secret and a token for the new cluster")),
});
export const RotateBody = object({
  secret: optional(flag("Make a new secret; neither: both")),
  token: optional(flag("Make a new token; neither: both")),
});
export const Rotated = object({ issued: issued(), revision: revision() });
export const CredentialsBody = object({
  registerSecret: optional(text("For whoever registers clusters")),
  clusters: optional(
    list(
      object({
        name: text("Name of the cluster"),
        secret: optional(text("For whoever speaks for it")),
        token: optional(text("For those who may submit to it")),
      }),
      { description: "Those with other texts than before" },
    ),
  ),
});
export const CredentialsSet = object({ revision: revision() });
export const DocumentBody = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: "object",
  description: DOCUMENT,
});
export const SubsystemPath = object({
  name: text("Name of the cluster"),
  subsystem: text("Name of the subsystem"),
});
export const StateBody = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: "object",
  additionalProperties: value([...SCALARS, "null"], "null removes the key"),
  description: "Keys and values; other keys stay as they are",
  examples: [{ nodes_free: 20, zone: "north", spot: null }],
});
export const CountersBody = object({ counters: list(counter) });

export const SatisfyBody = object({
  jobspec: optional(text("The text of a jobspec of any dialect; either this or request")),
  request: optional(
    Type.Unsafe<unknown>({
      type: "array",
      description:
        "Alternatives, each a list of trees of resources, like " +
        '[[{"type": "node", "count": 2, "with": [{"type": "core", "count": 4}]}]]',
    }),
  ),
  selection: optional(
    object({
      strategy: text("How a cluster is chosen", { examples: ["cheapest"] }),
      options: optional(
        Type.Unsafe<Readonly<Record<string, unknown>>>({
          type: "object",
          description: "Of the strategy: `key`, `priorities`",
        }),
      ),
      parameters: optional(
        Type.Unsafe<Readonly<Record<string, StateValue>>>({
          type: "object",
          additionalProperties: value(SCALARS, "A number, a text, true or false"),
          description: "For rules; go before those of the jobspec",
        }),
      ),
    }),
  ),
});

const answer = object({
  cluster: text("Name"),
  kind: kind(),
  ever: flag("With all that it has"),
  now: flag("With what is free"),
  slots: number("How often it would fit"),
  alternative: whole("Which one fits, from 0"),
  reasons: names("Why not"),
});

export const Satisfied = object(
  {
    ever: names("Clusters that could ever run all of it"),
    now: names("Clusters that could now"),
    tasks: list(object({ name: text("Name of the task"), clusters: list(answer) })),
    selection: optional(
      object({
        strategy: text("How it was chosen"),
        chosen: optional(text("Absent: none is good enough")),
        ranked: names("All that remain, the chosen one first"),
        dropped: list(object({ name: text("Name"), reason: text("Why") })),
      }),
    ),
    revision: revision(),
  },
  { $id: "Satisfied" },
);
