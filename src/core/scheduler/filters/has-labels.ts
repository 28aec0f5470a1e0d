import type { Texts } from "../../model/job/job.ts";
import type { Request } from "../request.ts";
import type { Filter } from "./filter.ts";

/** The first requested label that the node lacks. */
function missing({ where }: Request, labels: Texts): string | undefined {
  for (const name in where.labels) if (labels[name] !== where.labels[name]) return name;
  return undefined;
}

const labelKey = (label: readonly [string, string]): string => JSON.stringify(label);

/** Rejects nodes without the requested labels. */
export const hasLabels: Filter = {
  name: "has-labels",
  ever: {
    allows: (request, { node }) => missing(request, node.labels) === undefined,
    reason(request, { node }) {
      const name = missing(request, node.labels) ?? "";
      return { kind: "other-label", name, asked: request.where.labels?.[name] ?? "" };
    },
  },
  requestKey: ({ where: { labels } }) =>
    labels === undefined
      ? ""
      : JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))),
  nodeKey({ where }) {
    const names = Object.keys(where.labels ?? {});
    return ({ node }) => {
      let key = "";
      for (const name of names) {
        const value = node.labels[name];
        key += value === undefined ? " -" : ` ${value.length}:${value}`;
      }
      return key;
    };
  },
  place: {
    width: 2,
    ofRequest({ where }) {
      const [label] = Object.entries(where.labels ?? {});
      return label === undefined ? undefined : labelKey(label);
    },
    ofNode: ({ labels }) => Object.entries(labels).map(labelKey),
  },
};
