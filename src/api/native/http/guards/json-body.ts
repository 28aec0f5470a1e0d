import type { FastifyRequest } from "fastify";
import type { Jobspec } from "../../../../core/jobspec/model.ts";
import { JsonTooLarge } from "../../../../lib/bytes/json-size.ts";
import { parseInSlices } from "../../../../lib/bytes/json-slices.ts";
import { AppError, unprocessable } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { DocumentKind } from "../../../../ports/document-reader.ts";
import { inSlices, turns } from "../../../../server/loop/in-slices.ts";
import type { Operations } from "../../../../server/operations/operations.ts";
import { requireUtf8 } from "../../../web/receive-body.ts";
import type { ReadBody } from "../memory.ts";
import type { App } from "../schemas/typebox-provider.ts";

/** Bodies with a graph beside a few other fields. */
export const REGISTER_PATH = "/v1/clusters";

/** Bodies that are a document. */
export const SUBSYSTEM_PATH = "/v1/clusters/:name/subsystems/:subsystem";

type Readers = Pick<
  Operations,
  "readSubsystem" | "readRegistration" | "readJobspecBody" | "roomFor"
>;

interface LargeBody {
  readonly kind: DocumentKind;
  read(operations: Readers, bytes: Buffer): Promise<unknown>;
}

const withJobspec: LargeBody = {
  kind: "jobspec",
  async read(operations, bytes) {
    const { fields, jobspec } = await operations.readJobspecBody(bytes);
    if (jobspec === undefined) return fields;
    const body = { ...fields, jobspec: "read already" };
    readJobspecs.set(body, jobspec);
    return body;
  },
};

/** The bodies that may hold a large document: other threads parse it. */
const LARGE: ReadonlyMap<string, LargeBody> = new Map([
  [
    REGISTER_PATH,
    { kind: "graph", read: (operations, bytes) => operations.readRegistration(bytes) },
  ],
  [SUBSYSTEM_PATH, { kind: "graph", read: (operations, bytes) => operations.readSubsystem(bytes) }],
  ["/v1/jobspecs", withJobspec],
  ["/v1/jobspecs/try", withJobspec],
  ["/v1/satisfy", withJobspec],
]);

/** Parsed jobspecs of large bodies; the schema still sees a text there. */
const readJobspecs = new WeakMap<object, Jobspec>();

/** The jobspec of a body: its text, or the parsed one. */
export const jobspecOf = (body: { readonly jobspec?: string }): string | Jobspec | undefined =>
  readJobspecs.get(body) ?? body.jobspec;

/** JSON only, with helpful messages; an optional body may be absent. */
export function acceptJson(app: App, readBody: ReadBody): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", async (request: FastifyRequest) => {
    const { operations } = request;
    const large = LARGE.get(request.routeOptions.url ?? "");
    const announced = Number(request.headers["content-length"] ?? 0);
    // Checked before the body is received: rejecting a crowd of callers must cost little.
    if (large !== undefined && announced > limits.graphInlineBytesMax) {
      await operations.roomFor(large.kind, announced);
    }
    const bytes = requireUtf8(await readBody(request));
    // Many clients name the type of an absent body.
    if (bytes.length === 0) return undefined;
    if (bytes.length > limits.graphInlineBytesMax) {
      if (large !== undefined) return large.read(operations, bytes);
      await turns.next(0); // long bodies are parsed one at a time
    }
    return parseBody(bytes.toString(), (text) => {
      let result: unknown;
      void parse(request, text, (error, value) => (result = error ?? value));
      if (result instanceof Error) throw new SyntaxError(whyNotJson(text), { cause: result });
      return result;
    });
  });
}

/** A submission may have many jobs: they are parsed some at a time. */
async function parseBody(text: string, parse: (text: string) => unknown): Promise<unknown> {
  try {
    return await inSlices(parseInSlices(text, "jobs", limits, parse));
  } catch (error) {
    if (error instanceof JsonTooLarge) throw unprocessable("body", error.message);
    if (!(error instanceof SyntaxError)) throw error;
    throw new AppError("invalid_argument", `the body cannot be read as JSON: ${error.message}`, {
      cause: error,
    });
  }
}

/** The framework's parser does not describe the error; JSON.parse does. */
function whyNotJson(text: string): string {
  try {
    JSON.parse(text);
  } catch (error) {
    return error instanceof Error ? error.message : "unreadable";
  }
  return "it has a key __proto__ or constructor.prototype";
}
