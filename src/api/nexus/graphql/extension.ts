import { GraphQLID } from "graphql";
import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { WatchEventView } from "../../../server/views/views.ts";
import type { FieldNotes, GraphqlExtension } from "../../web/graphql-extension.ts";
import { ROOT } from "../model/children.ts";
import { KINDS, type NexusKind } from "../model/kinds.ts";
import { DEFAULT, DISPLAY_NAME, namedKinds } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";
import { below, type Selector, toSelector } from "../model/selectors.ts";
import type { Reader } from "../tree/reader.ts";
import { treeWriter } from "../write/tree-writer.ts";
import type { Writer } from "../write/writer.ts";
import { mutationFields } from "./mutations.ts";
import { type ChildReader, kindTypes, type SelectorArguments } from "./types.ts";

/**
 * The tree in the shape of the generated schema of the old system: `root { Config { JobGroups(Id: "g") { Jobs { Id } } } }`,
 * with status, selectors, pages and subscriptions beside it.
 */
export function nexusExtension(routes: {
  readonly reader: Reader;
  readonly writer: Writer;
}): GraphqlExtension {
  const { reader } = routes;
  const types = kindTypes(childReader(reader));
  const { tree } = reader;
  return {
    query: {
      root: {
        type: types.PowerScheduler,
        description: "The root of the tree of the nexus data model",
        extensions: { notes: { cost: 5, isCall: true } satisfies FieldNotes },
        resolve: (_, __, { operations }) => reader.get(operations, ROOT, DEFAULT),
      },
    },
    mutation: mutationFields(types, reader, treeWriter(routes)),
    subscription: {
      Job: {
        type: types.Job,
        description: "Jobs as they proceed, with their progress",
        args: {
          JobGroup: { type: GraphQLID, description: "Only of this group" },
          Id: { type: GraphQLID, description: "Only with this name" },
        },
        extensions: {
          notes: {
            watch: ({ JobGroup }) => ({
              kinds: ["job"],
              ...(isGiven(JobGroup) && { group: JobGroup }),
            }),
          } satisfies FieldNotes,
        },
        resolve(event, { Id }) {
          const told = event as WatchEventView;
          if (told.kind !== "job" || tree.job(told.job.id) === undefined) return null;
          return named(tree.jobObject(told.job), Id);
        },
      },
      Edge: {
        type: types.Edge,
        description: "Edges that join, leave, or whose power or work changes",
        args: {
          Site: { type: GraphQLID, description: "Only of this site" },
          Id: { type: GraphQLID, description: "Only with this name" },
        },
        extensions: { notes: { watch: () => ({ kinds: ["node"] }) } satisfies FieldNotes },
        resolve(event, { Site, Id }) {
          const told = event as WatchEventView;
          if (told.kind !== "node" || told.node.isClusterAgent) return null;
          if (isGiven(Site) && told.node.cluster !== Site) return null;
          return named(tree.edgeObject(told.node), Id);
        },
      },
    },
  };
}

/** Arguments of GraphQL may be absent or null; IDs are texts then. */
const isGiven = (argument: unknown): argument is string => typeof argument === "string";

const named = (object: NexusObject, id: unknown): NexusObject | null =>
  !isGiven(id) || object.metadata.labels[DISPLAY_NAME] === id ? object : null;

/** The names on the path to an object, from its labels. */
const pathTo = (kind: NexusKind, { metadata }: NexusObject): readonly string[] =>
  namedKinds(kind).map((each) =>
    each === kind ? (metadata.labels[DISPLAY_NAME] ?? "") : (metadata.labels[each.crd] ?? ""),
  );

function childReader(reader: Reader): ChildReader {
  /** A caller's selection, below this parent. */
  const selectorFor = (
    parent: NexusObject,
    kind: NexusKind,
    { LabelSelector, FieldSelector }: SelectorArguments,
  ): Selector => {
    const own = toSelector(LabelSelector ?? undefined, FieldSelector ?? undefined);
    return below(own, kind, pathTo(KINDS[kind.ancestors.at(-1) ?? ROOT.kind], parent));
  };
  return {
    async one(kind, caller) {
      await caller.turn();
      return reader.get(caller.operations, kind, DEFAULT);
    },
    async many(parent, kind, { caller, Id, ...selectors }) {
      const selector = selectorFor(parent, kind, selectors);
      if (isGiven(Id)) {
        const parentKind = KINDS[kind.ancestors.at(-1) ?? ROOT.kind];
        const ref = reader.tree.at(kind, [...pathTo(parentKind, parent), Id]);
        if (ref === undefined) return [];
        const object = await reader.show(caller.operations, ref);
        return selector.fits(object) ? [object] : [];
      }
      const objects: NexusObject[] = [];
      let from: string | undefined;
      do {
        await caller.turn();
        const query = { selector, limit: limits.pageSizeMax, from };
        const page = await reader.page(caller.operations, kind, query);
        objects.push(...page.objects);
        from = page.next;
        if (objects.length > limits.pageSizeMax) {
          throw new AppError(
            "exhausted",
            `there are more than ${limits.pageSizeMax} ${kind.plural}; ask for pages of them`,
          );
        }
      } while (from !== undefined);
      return objects;
    },
    async page(parent, kind, { caller, Limit, Continue, ...selectors }) {
      const limit = Limit ?? limits.pageSizeDefault;
      if (limit < 1 || limit > limits.pageSizeMax) {
        throw invalid("Limit", `must be from 1 to ${limits.pageSizeMax}`);
      }
      const selector = selectorFor(parent, kind, selectors);
      await caller.turn();
      const query = { selector, limit, from: Continue ?? undefined };
      const { objects, next } = await reader.page(caller.operations, kind, query);
      return { Items: objects, ...(next === undefined ? {} : { Continue: next }) };
    },
  };
}
