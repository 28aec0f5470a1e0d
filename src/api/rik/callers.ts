import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { RikPrincipal } from "../../core/access/principal.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { RESERVED } from "./translate.ts";

/** The role of a caller. */
export type RikRole = "worker" | "controller";

/** Without a name: the server requires none. */
const ANONYMOUS_PRINCIPAL: RikPrincipal = { kind: "rik" };

/**
 * Identifies callers by the user part of their configured URL: name and token. REST users send it as Basic authentication; rik's programs
 * send it in `:authority`, which rik's ports convert to the same. Valid tokens are the secret itself, and those derived from it for a name
 * (`tokenFor`).
 */
export class RikCallers {
  readonly #secret: string | undefined;
  readonly #known = new Map<string, RikPrincipal>();
  /** The caller sent the secret itself, not a token of a name. */
  readonly #withSecret = new WeakSet<RikPrincipal>();

  /** `secret`: undefined: no credential is required. */
  constructor(secret: string | undefined) {
    this.#secret = secret;
  }

  get areAsked(): boolean {
    return this.#secret !== undefined;
  }

  /** Throws AppError, `unauthenticated`. */
  of({ authorization = "" }: IncomingHttpHeaders, role: RikRole): RikPrincipal {
    const [, encoded] = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(authorization) ?? [];
    const shown = encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
    return this.#principal(shown, role);
  }

  /** Whether it may make tokens for others: a token of one name must not lead to another. */
  hasSecret(principal: RikPrincipal): boolean {
    return this.#withSecret.has(principal);
  }

  /** A token of a name is valid for the worker of that host name; the secret for all. */
  checkHostName(principal: RikPrincipal, hostname: string): void {
    const { name } = principal;
    if (name === undefined || name === hostname || this.hasSecret(principal)) return;
    throw new AppError(
      "permission_denied",
      `the token of ${name} registers the worker ${name} and no other: ask for one of ${hostname}`,
    );
  }

  /** For a caller that does not know the secret: valid for this name and this role only. */
  tokenFor(role: RikRole, name: string): string {
    if (this.#secret === undefined) {
      throw new AppError("conflict", "no secret is set, so that nobody is asked for a token");
    }
    const problem = problemOf(name);
    if (problem !== undefined) throw invalid("name", problem);
    return createHmac("sha256", this.#secret).update(`${role}/${name}`).digest("hex");
  }

  #principal(shown: string | undefined, role: RikRole): RikPrincipal {
    if (this.#secret === undefined) return ANONYMOUS_PRINCIPAL;
    if (shown === undefined) throw denied("a name and a token are missing: http://NAME:TOKEN@HOST");
    const key = `${role}/${shown}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const colon = shown.indexOf(":");
    const name = shown.slice(0, Math.max(0, colon));
    const token = shown.slice(colon + 1);
    const problem = problemOf(name);
    if (problem !== undefined) throw denied(`the name ${problem}`);
    const isSecret = isSame(token, this.#secret);
    const isRight = isSecret || isSame(token, this.tokenFor(role, name));
    if (!isRight) throw denied(`the token of ${name} is wrong`);
    const principal: RikPrincipal = { kind: "rik", name };
    if (isSecret) this.#withSecret.add(principal);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(key, principal);
    return principal;
  }
}

const NAME = /^[A-Za-z0-9][\w.-]*$/;
const NAME_LENGTH_MAX = 63;
const KNOWN_MAX = 10_000;

/** Why no caller can have this name; undefined: it can. */
function problemOf(name: string): string | undefined {
  if (RESERVED.has(name)) return `${name} is reserved: choose another`;
  if (name.length > NAME_LENGTH_MAX) return `has at most ${NAME_LENGTH_MAX} characters`;
  return NAME.test(name) ? undefined : "must be letters, digits, . _ -";
}

const denied = (problem: string): AppError => new AppError("unauthenticated", problem);

/** In constant time, wherever they differ. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHmac("sha256", "rik").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
