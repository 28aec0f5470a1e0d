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

/** The sources of secrets for rainbow's door. Never a flag: other users of the machine see flags. */
export interface RainbowSecretSources {
  /** The server's directory, for a register secret that the operator did not set. */
  readonly data: string;
  readonly secretFile?: string | undefined;
  /** From the environment; a file takes precedence. */
  readonly secret?: string | undefined;
  /** Without one there is no global token, even if there was one before. */
  readonly globalTokenFile?: string | undefined;
}

export interface RainbowSecretParts {
  readonly operations: OperationsAccess;
  readonly authenticator: Pick<Authenticator, "registrar">;
  readonly random: Random;
  readonly logger: Logger;
}

/** Updates the stored secrets from their sources; returns the file of the register secret. */
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
  /** undefined: the stored secret is up to date. */
  readonly text: string | undefined;
  /** The file where operators find it. */
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
  // The file is written first: a start that was killed in between continues with the same secret.
  if (registerSinceMs === undefined) return { text: kept ?? create(made, random), file: made };
  const isCurrent = kept !== undefined && (await authenticator.registrar(kept)) !== undefined;
  return { text: undefined, file: isCurrent ? made : undefined };
}

/** Atomic: readers never see a partly written file. */
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
