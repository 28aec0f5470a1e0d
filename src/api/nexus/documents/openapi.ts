import { createHash } from "node:crypto";
import { type Field, specFields, statusFields } from "../model/fields.ts";
import { apiVersionOf, GROUPS, type Served, SERVED, VERSION } from "../model/kinds.ts";

type Document = Readonly<Record<string, unknown>>;

/** `com.intel.jobscheduler.v1.Job`, like generated names of Kubernetes. */
const modelName = ({ group, kind }: Served): string =>
  `${group.split(".").toReversed().join(".")}.${VERSION}.${kind.kind}`;

const gvkOf = ({ group, kind }: Served) => ({ group, version: VERSION, kind: kind.kind });

const object = (description: string, properties: Readonly<Record<string, Field>>): Field => ({
  type: "object",
  description,
  properties,
});

const string = { type: "string" };

const METADATA: Document = {
  type: "object",
  description: "Name, labels and metadata that the server sets.",
  properties: {
    name: { ...string, description: "Hashed by the server unless it is already." },
    labels: { type: "object", additionalProperties: string, description: "Labels." },
    annotations: { type: "object", additionalProperties: string, description: "Annotations." },
    resourceVersion: { ...string, description: "Grows with every change." },
    uid: { ...string, description: "Unique id of this object." },
    generation: { type: "integer", format: "int64", description: "1." },
    creationTimestamp: { ...string, format: "date-time", description: "When it was created." },
    finalizers: { type: "array", items: string, description: "Not stored." },
  },
};

function modelOf(served: Served): Document {
  const { kind } = served;
  return {
    type: "object",
    description: kind.description,
    properties: {
      apiVersion: { ...string, description: `${apiVersionOf(served)}.` },
      kind: { ...string, description: `${kind.kind}.` },
      metadata: METADATA,
      ...(kind.hasSpec ? { spec: object("The wanted state.", specFields(kind)) } : {}),
      status: object("The state, set by the server.", statusFields(kind)),
    },
    "x-kubernetes-group-version-kind": [gvkOf(served)],
  };
}

const query = (name: string, type: string, description: string) => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});

/** kubectl leaves checks of fields to servers whose operations have `fieldValidation`. */
const WRITE_QUERY = [
  query("dryRun", "string", "All: nothing is changed."),
  query("fieldManager", "string", "Name of the writer."),
  query("fieldValidation", "string", "Ignore, Warn or Strict: what becomes of unknown fields."),
];
const LIST_QUERY = [
  query("labelSelector", "string", "Only objects with these labels."),
  query("fieldSelector", "string", "Only objects with these fields."),
  query("limit", "integer", "Return at most this many; `continue` leads to the rest."),
  query("continue", "string", "From the previous answer."),
  query("resourceVersion", "string", "Of a watch: after which version it begins."),
  query("watch", "boolean", "Changes as they happen, one JSON document a line."),
  query("allowWatchBookmarks", "boolean", "Also send bookmarks to an idle watch."),
  query("timeoutSeconds", "integer", "When a watch ends."),
];

const NAME_PARAMETER = {
  name: "name",
  in: "path",
  required: true,
  description: "Hashed, or as it was given.",
  schema: { type: "string", uniqueItems: true },
};

const PATCHES = ["application/json-patch+json", "application/merge-patch+json"];

function pathsOf(served: Served, ref: string): Document {
  const { kind } = served;
  const answer = (description: string) => ({
    description,
    content: { "application/json": { schema: { $ref: ref } } },
  });
  const operation = (action: string, parameters: readonly object[], body?: readonly string[]) => ({
    description: `${action} ${kind.kind}`,
    tags: [served.group],
    operationId: `${action}${served.group.split(".")[0]}${kind.kind}`,
    parameters,
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            content: Object.fromEntries(body.map((type) => [type, { schema: { $ref: ref } }])),
          },
        }),
    responses: { "200": answer("OK"), "201": answer("Created") },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": gvkOf(served),
  });
  const base = `/apis/${apiVersionOf(served)}/${kind.plural}`;
  const json = ["application/json"];
  const remove = kind.isSingleton ? {} : { delete: operation("delete", []) };
  const one = {
    get: operation("get", []),
    put: operation("put", WRITE_QUERY, json),
    patch: operation("patch", WRITE_QUERY, PATCHES),
  };
  return {
    [base]: {
      get: operation("list", LIST_QUERY),
      post: operation("post", WRITE_QUERY, json),
      ...(kind.isSingleton ? {} : { delete: operation("deletecollection", LIST_QUERY) }),
    },
    [`${base}/{name}`]: { parameters: [NAME_PARAMETER], ...one, ...remove },
    [`${base}/{name}/status`]: { parameters: [NAME_PARAMETER], ...one },
  };
}

const info = (version: string) => ({ title: "Busbar, as the nexus data model", version });

const documents = new Map<string, string>();

/** One text each, made on first use. */
function once(key: string, make: () => Document): string {
  let text = documents.get(key);
  if (text === undefined) documents.set(key, (text = JSON.stringify(make())));
  return text;
}

/** GET /openapi/v3/apis/GROUP/v1; undefined: there is none. */
export function openApiV3(group: string, version: string): string | undefined {
  if (!GROUPS.includes(group)) return undefined;
  return once(`v3 ${group} ${version}`, () => {
    const served = SERVED.filter((one) => one.group === group);
    const models = served.map((one) => [modelName(one), modelOf(one)]);
    const ref = (one: Served): string => `#/components/schemas/${modelName(one)}`;
    return {
      openapi: "3.0.0",
      info: info(version),
      paths: Object.assign({}, ...served.map((one) => pathsOf(one, ref(one)))) as Document,
      components: { schemas: Object.fromEntries(models) as Document },
    };
  });
}

/** GET /openapi/v3: the paths of the others, each with a hash so that clients may cache them. */
export const openApiV3Index = (version: string): string =>
  once(`v3 ${version}`, () => ({
    paths: Object.fromEntries(
      GROUPS.map((group) => {
        const hash = createHash("sha512")
          .update(openApiV3(group, version) ?? "")
          .digest("hex");
        const path = `apis/${group}/${VERSION}`;
        const serverRelativeURL = `/openapi/v3/${path}?hash=${hash.toUpperCase()}`;
        return [path, { serverRelativeURL }];
      }),
    ),
  }));

/** GET /openapi/v2, for clients that support no other version. */
export const openApiV2 = (version: string): string =>
  once(`v2 ${version}`, () => ({
    swagger: "2.0",
    info: info(version),
    paths: {},
    definitions: Object.fromEntries(
      SERVED.map((served) => [modelName(served), withoutNullable(modelOf(served))]),
    ),
  }));

/** A keyword of OpenAPI 3 that version 2 does not have. */
const withoutNullable = (model: Document): Document =>
  JSON.parse(
    JSON.stringify(model, (key, value: unknown) => (key === "nullable" ? undefined : value)),
  ) as Document;

/** The only form of version 2 that kubectl reads: the type in its request, and the type of the answer, since Go accepts no "@" there. */
export const OPENAPI_V2_PROTOBUF = {
  asked: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
  sent: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
};

/**
 * Version 2 as that message, which describes no kind: kubectl requests it where version 3 has no kind of that name. kubectl then reports
 * that there is no such kind, and not that the document is unreadable.
 */
export function openApiV2Protobuf(version: string): Buffer {
  const field = (number: number, value: Buffer): Buffer =>
    Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]); // all shorter than 128
  const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));
  const { title } = info(version);
  const about = Buffer.concat([text(1, title), text(2, version)]);
  return Buffer.concat([text(1, "2.0"), field(2, about), field(8, Buffer.alloc(0))]);
}
