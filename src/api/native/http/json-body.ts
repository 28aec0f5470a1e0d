import { AppError } from "../../../lib/errors.ts";
import type { FastifyRequest } from "fastify";
import type { ReadBody } from "./memory.ts";
import type { App } from "./typebox-provider.ts";

/** JSON only, with messages that help, and nothing at all where a body is optional. */
export function acceptJson(app: App, readBody: ReadBody): void {
  const parse = app.getDefaultJsonParser("error", "error");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", async (request: FastifyRequest) => {
    const text = await readBody(request);
    // Many clients name the type of a body they do not send.
    if (text === "") return undefined;
    return new Promise((resolve, reject) => {
      void parse(request, text, (error, value) => {
        if (error === null) resolve(value);
        else reject(notJson(text, error));
      });
    });
  });
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
