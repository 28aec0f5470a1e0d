import type { Operations } from "../../../server/operations/operations.ts";
import type { Members } from "../http/body.ts";
import { nodeOf } from "../model/children.ts";
import type { NexusKind } from "../model/kinds.ts";
import { DEFAULT, displayOf, type Path, treeLabels } from "../model/names.ts";
import { notFound, type Reader } from "../tree/reader.ts";
import type { Received } from "./received.ts";
import type { Writer } from "./writer.ts";

/** Changes of the tree by paths, for doors without objects of Kubernetes. */
export interface TreeWriter {
  /** Creates missing parents. Throws `already_exists`. */
  create(operations: Operations, kind: NexusKind, path: Path, spec: Members): Promise<void>;
  /** Throws where this change is impossible. */
  replace(operations: Operations, kind: NexusKind, path: Path, spec: Members): Promise<void>;
  /** With all its children, and nothing else. */
  remove(operations: Operations, kind: NexusKind, path: Path): Promise<void>;
}

export function treeWriter({
  reader,
  writer,
}: {
  readonly reader: Reader;
  readonly writer: Writer;
}): TreeWriter {
  const refAt = (kind: NexusKind, path: Path) => {
    const ref = reader.tree.at(kind, path);
    if (ref === undefined) throw notFound(kind, displayOf(path));
    return ref;
  };
  return {
    async create(operations, kind, path, spec) {
      // The old gateway labels its objects with their name, under the name of the node.
      const labels = { ...treeLabels(kind, path), [nodeOf(kind)]: displayOf(path) };
      const received = receivedOf(displayOf(path), { labels, annotations: {} }, spec);
      await writer.create(operations, { kind, group: kind.group }, received, false);
    },
    async replace(operations, kind, path, spec) {
      const ref = kind.isSingleton ? undefined : refAt(kind, path);
      const object =
        ref === undefined
          ? await reader.get(operations, kind, DEFAULT)
          : await reader.show(operations, ref);
      const { labels, annotations = {} } = object.metadata;
      const received = receivedOf(displayOf(path), { labels, annotations }, spec);
      await writer.update(
        operations,
        { kind, group: kind.group },
        { ref, object },
        received,
        false,
      );
    },
    remove: (operations, kind, path) => writer.remove(operations, refAt(kind, path)),
  };
}

const receivedOf = (
  name: string,
  said: Pick<Received, "labels" | "annotations">,
  spec: Members,
): Received => ({
  name,
  ...said,
  resourceVersion: undefined,
  uid: undefined,
  spec,
  state: {},
  unknown: [],
});
