import type { FastifyRequest } from "fastify";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Operations } from "../../../server/operations.ts";
import type { ReadBody } from "./memory.ts";
import type { App } from "./typebox-provider.ts";

/** Where a body holds a graph beside a few words. */
export const REGISTER_PATH = "/v1/clusters";

/** Which bodies may hold a large document, and of which kind. */
const LARGE: ReadonlyMap<string, "jobspec" | "graph"> = new Map([
  [REGISTER_PATH, "graph"],
  ["/v1/jobspecs", "jobspec"],
  ["/v1/jobspecs/try", "jobspec"],
  ["/v1/satisfy", "jobspec"],
]);

/** JSON only, with messages that help, and nothing at all where a body is optional. */
export function acceptJson(
  app: App,
  readBody: ReadBody,
  operations: Pick<Operations, "readRegistration" | "checkRoomFor">,
): void {
  const parse = app.getDefaultJsonParser("error", "error");
  const takeTurn = createTurns();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", async (request: FastifyRequest) => {
    const kind = LARGE.get(request.routeOptions.url ?? "");
    const announced = Number(request.headers["content-length"] ?? 0);
    // Before it is received: a crowd of callers that are refused must cost little.
    if (kind !== undefined && announced > limits.graphInlineBytesMax) operations.checkRoomFor(kind);
    const bytes = await readBody(request);
    // Many clients name the type of a body they do not send.
    if (bytes.length === 0) return undefined;
    if (bytes.length > limits.graphInlineBytesMax) {
      // A long graph is read elsewhere: even taking its JSON apart would hold everybody up.
      if (request.routeOptions.url === REGISTER_PATH) return operations.readRegistration(bytes);
      await takeTurn();
      if (kind !== undefined) operations.checkRoomFor(kind); // it may have become too late
    }
    const text = bytes.toString();
    return new Promise((resolve, reject) => {
      void parse(request, text, (error, value) => {
        if (error === null) resolve(value);
        else reject(notJson(text, error));
      });
    });
  });
}

/** Long bodies are taken apart one at a time, with all that waits meanwhile done in between. */
function createTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  const next = async (before: Promise<void>): Promise<void> => {
    await before;
    await new Promise((resolve) => setImmediate(resolve));
  };
  return () => (last = next(last));
}

/** The framework's parser does not say what is wrong; the language's own does. */
function notJson(text: string, cause: Error): AppError {
  try {
    JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    return new AppError("invalid_argument", `the body is not JSON: ${why}`, { cause });
  }
  return new AppError("invalid_argument", "the body has a key __proto__ or constructor.prototype", {
    cause,
  });
}
