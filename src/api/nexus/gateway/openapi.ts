import { CHILDREN, nodeOf } from "../model/children.ts";
import { specFields, statusFields } from "../model/fields.ts";
import { ALL_KINDS, type NexusKind } from "../model/kinds.ts";
import { namedKinds } from "../model/names.ts";
import { type Uri, URIS } from "./uris.ts";

type Json = Readonly<Record<string, unknown>>;

const TITLE = "Nexus API GW APIs";
const ref = (part: string, name: string): Json => ({ $ref: `#/components/${part}/${name}` });
const content = (schema: Json): Json => ({ "application/json": { schema } });
const MESSAGE = ref("responses", "Message");

/** The routes of the gateway for programs, and for the page. */
export function gatewayDocument(): Json {
  const shown = URIS.filter(({ isAlias }) => !isAlias);
  return {
    openapi: "3.0.0",
    info: { title: TITLE, version: "1.0.0" },
    paths: Object.fromEntries(shown.flatMap(pathsOf)),
    components: {
      schemas: {
        ...Object.fromEntries(ALL_KINDS.filter(isServed).flatMap(schemasOf)),
        Message: {
          type: "object",
          required: ["message"],
          properties: { message: { type: "string" } },
        },
      },
      responses: {
        ...Object.fromEntries(ALL_KINDS.filter(isServed).flatMap(responsesOf)),
        Message: {
          description: "The result, or the error",
          content: content(ref("schemas", "Message")),
        },
      },
      requestBodies: Object.fromEntries(
        ALL_KINDS.filter(isServed).map((kind) => [
          `Create${nodeOf(kind)}`,
          { required: true, content: content(ref("schemas", `${nodeOf(kind)}.Post`)) },
        ]),
      ),
    },
  };
}

const isServed = (kind: NexusKind): boolean => URIS.some((uri) => uri.kind === kind);

function pathsOf(uri: Uri): [string, Json][] {
  const { kind, pattern, isList } = uri;
  if (isList) return [[pattern, { get: listOf(uri), post: postOf(uri) }]];
  const object: [string, Json] = [pattern, objectOf(uri)];
  const status: [string, Json] = [
    `${pattern}/status`,
    {
      get: operation(uri, "GET", `${pattern}/status`, "Show its status", `Status${nodeOf(kind)}`),
    },
  ];
  const children = CHILDREN[kind.kind].map(({ field, kind: child }): [string, Json] => [
    `${pattern}/${field}`,
    {
      get: {
        ...operation(
          uri,
          "GET",
          `${pattern}/${field}`,
          `List ${child.plural} below it`,
          `List${nodeOf(child)}`,
        ),
        parameters: [...parametersOf(uri), ...PAGE],
      },
    },
  ]);
  return [object, status, ...children];
}

function objectOf(uri: Uri): Json {
  const { kind, pattern } = uri;
  const requestBody = ref("requestBodies", `Create${nodeOf(kind)}`);
  const made = { 200: MESSAGE, 201: MESSAGE, 400: MESSAGE, 422: MESSAGE };
  return {
    get: operation(uri, "GET", pattern, "Show it", `Get${nodeOf(kind)}`),
    put: {
      ...operation(uri, "PUT", pattern, "Create it, or replace its spec"),
      parameters: [
        ...parametersOf(uri),
        query("update_if_exists", { type: "boolean" }, "false: only create"),
      ],
      requestBody,
      responses: { ...made, 403: MESSAGE },
    },
    patch: {
      ...operation(uri, "PATCH", pattern, "Change the given fields of its spec"),
      requestBody,
      responses: { ...made, 404: MESSAGE },
    },
    ...(kind.isSingleton
      ? {}
      : {
          delete: {
            ...operation(uri, "DELETE", pattern, "Delete it with all objects below it"),
            responses: { 200: { description: "It was deleted" }, 404: MESSAGE },
          },
        }),
  };
}

const listOf = (uri: Uri): Json => ({
  ...operation(uri, "LIST", uri.pattern, `List ${uri.kind.plural}`, `List${nodeOf(uri.kind)}`),
  parameters: [...parametersOf(uri), ...PAGE],
});

const postOf = (uri: Uri): Json => ({
  ...operation(uri, "POST", uri.pattern, "Create one"),
  requestBody: {
    required: true,
    content: content({
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string" },
        spec: ref("schemas", `${nodeOf(uri.kind)}.Post`),
      },
    }),
  },
  responses: { 201: MESSAGE, 400: MESSAGE, 409: MESSAGE, 422: MESSAGE },
});

function operation(
  uri: Uri,
  method: string,
  pattern: string,
  summary: string,
  response?: string,
): Json {
  return {
    tags: [uri.kind.kind],
    summary,
    operationId: `${method}_${pattern.replaceAll(/[{}]/g, "").replaceAll(/[/.]/g, "_")}`,
    parameters: parametersOf(uri),
    ...(response === undefined
      ? {}
      : { responses: { 200: ref("responses", response), 404: MESSAGE } }),
  };
}

const query = (name: string, schema: Json, description: string): Json => ({
  name,
  in: "query",
  schema,
  description,
});
const PAGE = [
  query("limit", { type: "integer", minimum: 1, maximum: 1_000 }, "How many at most; default 500"),
  query("continue", { type: "string" }, "x-continue of the page before"),
  query("labelSelector", { type: "string" }, "As kubectl -l has it"),
  query("fieldSelector", { type: "string" }, "As kubectl --field-selector has it"),
];

const parametersOf = ({ kind, isList }: Uri): readonly Json[] =>
  namedKinds(kind)
    .filter((one) => !isList || one !== kind)
    .map((one) => ({
      name: nodeOf(one),
      in: "path",
      required: true,
      schema: { type: "string" },
      description: `Name of the ${nodeOf(one)} node`,
    }));

function schemasOf(kind: NexusKind): [string, Json][] {
  const node = nodeOf(kind);
  const spec = Object.entries(specFields(kind)).filter(([name]) => !name.endsWith("Gvk"));
  const { state } = statusFields(kind);
  const status: Json = { type: "object", properties: state === undefined ? {} : { state } };
  const own = { spec: ref("schemas", `${node}.Post`), status: ref("schemas", `${node}.Status`) };
  const post: Json = {
    type: "object",
    description: kind.description,
    properties: Object.fromEntries(spec),
    additionalProperties: false,
  };
  const get: Json = { type: "object", properties: own };
  const item: Json = { type: "object", properties: { name: { type: "string" }, ...own } };
  return [
    [`${node}.Post`, post],
    [`${node}.Status`, status],
    [`${node}.Get`, get],
    [`${node}.List`, { type: "array", items: item }],
  ];
}

function responsesOf(kind: NexusKind): [string, Json][] {
  const node = nodeOf(kind);
  const described = (part: "Get" | "List" | "Status", description: string): [string, Json] => [
    `${part}${node}`,
    { description, content: content(ref("schemas", `${node}.${part}`)) },
  ];
  const [name, list] = described("List", `The requested ${kind.plural}`);
  const text = { schema: { type: "string" } };
  const headers = {
    link: { description: "Where the next page is, if there is one", ...text },
    "x-continue": { description: "For the next page, if there is one", ...text },
  };
  return [
    described("Get", kind.description),
    described("Status", "Its status"),
    [name, { ...list, headers }],
  ];
}
