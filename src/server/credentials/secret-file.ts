import { readFileSync, statSync } from "node:fs";
import { SECRET_RULE } from "../../core/model/credential.ts";
import { AppError } from "../../lib/errors.ts";
import { checkRule } from "../../lib/rules/check-rule.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";

/** Throws AppError when the file is missing or holds no valid secret. */
export function readSecretFile(path: string, flag: string, logger: Logger): string {
  const text = readIfThere(path);
  if (text === undefined) throw new AppError("invalid_argument", `${flag}: there is no ${path}`);
  if ((statSync(path).mode & 0o077) !== 0) {
    logger.warn(
      { file: path },
      "other users of this machine can read this secret file; chmod 600 it",
    );
  }
  const secret = checkRule(text.trim(), flag, SECRET_RULE);
  if (secret.length < limits.secretLengthShort) {
    logger.warn({ file: path }, "this secret is short and may be guessed; openssl rand -hex 32");
  }
  return secret;
}

/** Undefined: there is no such file. */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw new AppError("unavailable", `read ${path}`, { cause });
  }
}
