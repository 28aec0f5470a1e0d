import { fastify } from "fastify";
import { limits } from "../../../limits.ts";
import type { GraphqlDoor } from "../graphql/routes.ts";
import { answerBadUrl, answerFailures } from "./guards/answer-failures.ts";
import type { OwnNames } from "../../web/browser-guard.ts";
import { addDocs } from "./docs.ts";
import { addHooks } from "./hooks.ts";
import type { HttpHost } from "./guards/host.ts";
import { acceptJson } from "./guards/json-body.ts";
import { addRoutes } from "./routes.ts";
import { chargeMemory } from "./memory.ts";
import type { App } from "./schemas/typebox-provider.ts";

interface AppOptions extends GraphqlDoor {
  readonly version: string;
  readonly names: OwnNames;
}

/** Rules that the core checks, with the same message for every door. */
const VALUES: readonly string[] =
  "minimum maximum exclusiveMinimum multipleOf minLength maxLength pattern minItems minProperties maxProperties propertyNames prefixItems const oneOf anyOf allOf not dependentRequired".split(
    " ",
  );

interface Validator {
  removeKeyword(word: string): unknown;
  addKeyword(word: string): unknown;
}

/** Only shapes are checked here: types, names and missing fields. */
function onlyShapes<Of extends Validator>(validator: Of): Of {
  for (const word of VALUES) {
    validator.removeKeyword(word);
    validator.addKeyword(word);
  }
  return validator;
}

/** All that answers requests: routes, their documentation, metrics and health. */
export async function createApp(host: HttpHost, options: AppOptions): Promise<App> {
  const app: App = fastify({
    bodyLimit: limits.messageBytesMax,
    routerOptions: { maxParamLength: limits.pathParameterCharsMax },
    // The server reads bodies literally: it drops, converts and fills in nothing.
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        allErrors: false,
        verbose: true,
        allowUnionTypes: true,
      },
      plugins: [onlyShapes],
    },
    // Our own hook does this, with our own message.
    return503OnClosing: false,
    frameworkErrors: answerBadUrl,
  });
  // Views are sent unchanged; the schemas describe them and must not leave anything out.
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
  acceptJson(app, chargeMemory(app, host.memory));
  addHooks(app, host, options);
  answerFailures(app, host);
  await addDocs(app, options.version);
  addRoutes(app, host, options);
  await app.ready();
  return app;
}
