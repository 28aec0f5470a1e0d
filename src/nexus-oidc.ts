import { dirname, resolve } from "node:path";
import type { OidcGuard, OidcOptions } from "./api/web/oidc/guard.ts";
import { parseOidcSettings } from "./api/web/oidc/settings.ts";
import { invalid } from "./lib/errors.ts";
import type { Clock } from "./ports/clock.ts";
import type { Logger } from "./ports/logger.ts";
import { readIfThere, readSecretFile } from "./server/credentials/secret-file.ts";

const FLAG = "--nexus-rest-oidc";
/** Where browsers go that only want to log in. */
const HOME = "/intel.com/docs";

function readSettings(
  file: string,
  logger: Logger,
): Pick<OidcOptions, "settings" | "clientSecret"> {
  const text = readIfThere(file);
  if (text === undefined) throw invalid(FLAG, `there is no ${file}`);
  const settings = parseOidcSettings(text, FLAG);
  const { clientSecretFile: secret } = settings;
  if (secret === undefined) return { settings };
  const path = resolve(dirname(file), secret);
  return { settings, clientSecret: readSecretFile(path, FLAG, logger) };
}

/**
 * The guard that requires tokens of callers of the REST gateway of nexus. Throws AppError when the file, or that of the secret
 * which it names, cannot be used. Its code, and the library that checks tokens, are loaded only when they are needed.
 */
export async function openOidcGuard(
  file: string | undefined,
  adapters: { readonly clock: Clock; readonly logger: Logger },
): Promise<OidcGuard | undefined> {
  if (file === undefined) return undefined;
  const oidc = readSettings(file, adapters.logger);
  const { OidcGuard: Guard } = await import("./api/web/oidc/guard.ts");
  return new Guard({ ...oidc, ...adapters, home: HOME });
}
