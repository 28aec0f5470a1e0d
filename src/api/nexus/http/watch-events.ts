import type { WatchEventView } from "../../../server/views/views.ts";
import { gzipFormat } from "../../../server/watch/gzip-format.ts";
import type { WatchFormat } from "../../../server/watch/watch-format.ts";
import { apiVersionOf, type Served } from "../model/kinds.ts";
import type { NexusObject } from "../model/object.ts";
import type { Selector } from "../model/selectors.ts";
import { type Included, tableHead, toRow } from "../model/table.ts";
import { at } from "../tree/shown.ts";
import type { Tree } from "../tree/tree.ts";
import { asAsked } from "./lists.ts";
import {
  type Present,
  type WatchSelection,
  selectByLabels,
  selectByStatus,
  type Told,
} from "./selection.ts";

/** The options of one watch; two with the same key receive the same bytes. */
export interface WatchShape {
  readonly served: Served;
  readonly selector: Selector;
  readonly table: Included | undefined;
  readonly hasBookmarks: boolean;
}

/** Converts an event of Busbar to events of a kind: most to none, some to several. */
export function toldOf(tree: Tree, { kind }: Served, event: WatchEventView): readonly Told[] {
  const { revision } = event;
  if (event.kind === "sync" || event.kind === "bookmark") return [];
  const told: Told[] = [...tree.asides.of(revision, kind.kind)];
  const say = (object: NexusObject): void => {
    const type = tree.bornAt(object.metadata.name) === revision ? "ADDED" : "MODIFIED";
    told.push({ type, object: at(object, revision) });
  };
  switch (event.kind) {
    case "job":
      if (kind.kind === "Job" && tree.job(event.job.id) !== undefined)
        say(tree.jobObject(event.job));
      break;
    case "task": {
      if (kind.kind !== "JobInfo" && kind.kind !== "Edge") break;
      const { task } = event;
      const share = tree.share(task.jobId, task.index);
      // The share is elsewhere by now: a later event reports that it left.
      if (share === undefined || share.task.node !== task.node) break;
      if (kind.kind === "JobInfo") {
        say(tree.shareObject({ ...share, task }));
        break;
      }
      const node = tree.nodes.get(task.node ?? "");
      if (node !== undefined) say(tree.edgeObject(node));
      break;
    }
    case "node":
      if (kind.kind === "Edge" && tree.nodes.has(event.node.name)) say(tree.edgeObject(event.node));
      break;
    case "cluster":
    case "group":
    case "service":
    case "nexus":
    case "removed":
      break;
  }
  return told;
}

/** The form of events for watches of one shape. */
export interface NexusFormat extends WatchFormat {
  line(told: Told): Buffer;
  /** The same, compressed. */
  readonly gzip: WatchFormat;
}

/** Renders events for watches of one shape. */
export function createFormat(
  tree: Tree,
  shape: WatchShape,
  nowMs: () => number,
  selection: WatchSelection = selectByLabels(tree, shape.selector),
): NexusFormat {
  const { served, selector, table, hasBookmarks } = shape;
  const { kind } = served;
  const show = (object: NexusObject): object => {
    const shown = asAsked(served, object, selector.name);
    if (table === undefined) return shown;
    const { resourceVersion } = shown.metadata;
    return { ...tableHead(kind, { resourceVersion }), rows: [toRow(kind, shown, nowMs(), table)] };
  };
  const line = (told: Told): Buffer => {
    const selected = selector.isAll ? told : selection(told);
    if (selected === undefined) return NOTHING;
    const { type, object } = selected;
    return Buffer.from(`${JSON.stringify({ type, object: show(object) })}\n`);
  };
  const bookmark = (revision: number): Buffer => {
    const metadata = { resourceVersion: String(revision), creationTimestamp: null };
    const plain = { kind: kind.kind, apiVersion: apiVersionOf(served), metadata };
    const object = table === undefined ? plain : { ...tableHead(kind, metadata), rows: [] };
    return Buffer.from(`${JSON.stringify({ type: "BOOKMARK", object })}\n`);
  };
  const plain = {
    name: `nexus ${kind.kind}`,
    line,
    render(event: WatchEventView): Buffer {
      if (event.kind === "bookmark" && hasBookmarks) return bookmark(event.revision);
      const parts = toldOf(tree, served, event).map(line);
      return parts.length === 0 ? NOTHING : Buffer.concat(parts);
    },
  };
  // The same object, so that both share the rendered events.
  return Object.assign(plain, { gzip: gzipFormat(plain) });
}

const NOTHING = Buffer.alloc(0);

const FORMATS_MAX = 256;

/** One format for all watches of the same shape, so that each event is rendered once for them. */
export class Formats {
  readonly #tree: Tree;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, NexusFormat>();

  constructor(tree: Tree, nowMs: () => number) {
    this.#tree = tree;
    this.#nowMs = nowMs;
  }

  /** `present`: the objects selected now, if the selection is by status. Such a watch shares its format with no other. */
  of(shape: WatchShape, present: Present): NexusFormat {
    if (shape.selector.isOfStatus) {
      const selection = selectByStatus(shape.selector, present);
      return createFormat(this.#tree, shape, this.#nowMs, selection);
    }
    const { served, selector, table = "", hasBookmarks } = shape;
    const { group, kind } = served;
    const key = [group, kind.kind, table, hasBookmarks, selector.key].join(" ");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const [oldest] = this.#known.keys();
    // Existing watches of this shape keep using it.
    if (this.#known.size >= FORMATS_MAX && oldest !== undefined) this.#known.delete(oldest);
    const format = createFormat(this.#tree, shape, this.#nowMs);
    this.#known.set(key, format);
    return format;
  }
}
