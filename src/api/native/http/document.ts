import { EXAMPLES, LINKS } from "./schemas/examples.ts";

/** The parts of an OpenAPI document that are completed here. */
export interface Operation {
  readonly operationId?: string;
  readonly parameters?: { readonly name: string; readonly in: string; example?: unknown }[];
  readonly requestBody?: {
    required?: boolean;
    readonly content: Record<string, { readonly schema: object; examples?: unknown }>;
  };
  readonly responses?: Record<string, { links?: unknown }>;
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** Additions that the schemas of routes cannot express: optional bodies, examples, and links to next requests. */
export function completeDocument(paths: Paths): void {
  for (const operations of Object.values(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      markOptionalBody(method, operation);
      addExamples(operation);
      addLinks(operation);
    }
  }
}

/** A body whose fields are all optional is optional itself; except with PUT, which always puts something (hooks.ts). */
function markOptionalBody(method: string, { requestBody }: Operation): void {
  const schema = requestBody?.content["application/json"]?.schema;
  if (requestBody === undefined || schema === undefined || method === "put") return;
  const isPlain = !("$ref" in schema) && !("anyOf" in schema);
  const needsSome = "required" in schema || "oneOf" in schema || "minProperties" in schema;
  requestBody.required = !isPlain || needsSome;
}

function addExamples({ operationId = "", parameters = [], requestBody }: Operation): void {
  const { path = {}, query = {}, bodies } = EXAMPLES[operationId] ?? {};
  for (const parameter of parameters) {
    const given = parameter.in === "path" ? path : parameter.in === "query" ? query : {};
    if (parameter.name in given) parameter.example = given[parameter.name];
  }
  const media = requestBody?.content["application/json"];
  if (media === undefined || bodies === undefined) return;
  media.examples = Object.fromEntries(
    Object.entries(bodies).map(([name, value]) => [name, { value }]),
  );
}

function addLinks({ operationId = "", responses = {} }: Operation): void {
  const links = Object.entries(LINKS[operationId] ?? {}).flatMap(([field, next]) =>
    next.map((target) => [
      target,
      { operationId: target, parameters: { [field]: `$response.body#/${field}` } },
    ]),
  );
  if (links.length === 0) return;
  for (const [status, response] of Object.entries(responses)) {
    if (status.startsWith("2")) response.links = Object.fromEntries(links);
  }
}
