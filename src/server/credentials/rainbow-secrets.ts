import { linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER } from "../../core/access/principal.ts";
import { SECRET_RULE } from "../../core/model/credential.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { AppError } from "../../lib/errors.ts";
import type { Logger } from "../../ports/logger.ts";
import type { Random } from "../../ports/random.ts";
import type { Authenticator } from "./authenticator.ts";
import { newSecret } from "./credentials.ts";
import { readIfThere, readSecretFile } from "./secret-file.ts";
import type { OperationsAccess } from "../operations/operations.ts";

/** Where the texts come from that callers of rainbow's door show. Never a flag: others see those. */
export interface RainbowSecretSources {
  /** The server's directory, for a register secret that nobody has given. */
  readonly data: string;
  readonly secretFile?: string | undefined;
  /** From the environment; a file goes before it. */
  readonly secret?: string | undefined;
  /** Without one there is no global token, whatever there was before. */
  readonly globalTokenFile?: string | undefined;
}

export interface RainbowSecretParts {
  readonly operations: OperationsAccess;
  readonly authenticator: Pick<Authenticator, "registrar">;
  readonly random: Random;
  readonly logger: Logger;
}

/** Brings what is stored in step with where it comes from; returns the file of the register secret. */
export async function prepareRainbowSecrets(
  sources: RainbowSecretSources,
  parts: RainbowSecretParts,
): Promise<string | undefined> {
  const { globalTokenFile } = sources;
  const { text, file } = await registerSecret(sources, parts);
  const globalToken =
    globalTokenFile === undefined
      ? null
      : readSecretFile(globalTokenFile, "--rainbow-global-token-file", parts.logger);
  await parts.operations.as(SERVER).setCredentials({ registerSecret: text, globalToken });
  return file;
}

interface Found {
  /** undefined: what is stored is right. */
  readonly text: string | undefined;
  /** Where people find it. */
  readonly file: string | undefined;
}

async function registerSecret(
  { data, secretFile, secret }: RainbowSecretSources,
  { operations, authenticator, random, logger }: RainbowSecretParts,
): Promise<Found> {
  if (secretFile !== undefined) {
    return { text: readSecretFile(secretFile, "--rainbow-secret-file", logger), file: secretFile };
  }
  if (secret !== undefined) {
    return { text: checkRule(secret, "BUSBAR_RAINBOW_SECRET", SECRET_RULE), file: undefined };
  }
  const made = join(data, "rainbow-secret");
  const kept = readIfThere(made)?.trim();
  const { registerSinceMs } = await operations.as(SERVER).getServerCredentials();
  // Made before it is stored: a start that was cut off in between goes on with the same text.
  if (registerSinceMs === undefined) return { text: kept ?? create(made, random), file: made };
  const isCurrent = kept !== undefined && (await authenticator.registrar(kept)) !== undefined;
  return { text: undefined, file: isCurrent ? made : undefined };
}

/** Never seen half written. */
function create(path: string, random: Random): string {
  const temporary = `${path}.${process.pid}`;
  const text = newSecret(random);
  try {
    writeFileSync(temporary, `${text}\n`, { mode: 0o600, flush: true });
    linkSync(temporary, path);
    return text;
  } catch (cause) {
    throw new AppError("unavailable", `write ${path}`, { cause });
  } finally {
    rmSync(temporary, { force: true });
  }
}
