import type { IncomingMessage } from "node:http";
import type { UserPrincipal } from "../../../core/access/principal.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import { callerOf } from "./caller.ts";
import { cookieOf, setCookie } from "./cookies.ts";
import { Logins } from "./login.ts";
import { OidcProvider } from "./provider.ts";
import type { OidcSettings } from "./settings.ts";

export interface OidcOptions {
  readonly settings: OidcSettings;
  readonly clientSecret?: string | undefined;
  /** The path for browsers that only want to log in. */
  readonly home: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time between two attempts to reach the provider; for tests. */
  readonly cooldownMs?: number | undefined;
}

/** The outcome of a request. */
export type Admission =
  | { readonly kind: "caller"; readonly principal: UserPrincipal }
  /** The browser is redirected: to log in, or to the page that it requested before. */
  | { readonly kind: "redirect"; readonly location: string; readonly cookies: readonly string[] }
  | { readonly kind: "logged-out"; readonly cookies: readonly string[] }
  /** `challenge`: for WWW-Authenticate. */
  | { readonly kind: "refused"; readonly error: AppError; readonly challenge: string };

const TOKEN = "access_token";
const LOGIN = "login";

/** Admits callers with a token of an OpenID provider, in a header or a cookie, and lets browsers get one. */
export class OidcGuard {
  readonly #provider: OidcProvider;
  readonly #logins: Logins;
  readonly #nowMs: () => number;
  readonly #callbackPath: string;
  readonly #isSecure: boolean;
  readonly #home: string;

  constructor(options: OidcOptions) {
    const { settings, clientSecret, clock, home } = options;
    this.#home = home;
    this.#nowMs = () => clock.nowMs();
    this.#provider = new OidcProvider(options);
    this.#logins = new Logins({ provider: this.#provider, clientSecret, nowMs: this.#nowMs });
    const { pathname, protocol } = new URL(settings.redirectUrl);
    this.#callbackPath = pathname;
    this.#isSecure = protocol === "https:";
  }

  /** Throws AppError, `unavailable`, when the provider is needed and unreachable. */
  async admit(request: Pick<IncomingMessage, "method" | "url" | "headers">): Promise<Admission> {
    const { pathname, search, searchParams } = new URL(request.url ?? "/", "http://here");
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (isRead && pathname === this.#callbackPath) {
      return this.#refusing(() => this.#finish(request, searchParams));
    }
    if (isRead && pathname === "/login") return this.#begin(this.#home);
    if (pathname === "/logout")
      return { kind: "logged-out", cookies: [this.#cookie(TOKEN, "", 0)] };
    const token = tokenOf(request.headers);
    if (token !== undefined) {
      const admission = await this.#refusing(() => this.#caller(token));
      if (admission.kind !== "refused") return admission;
      return isRead && isBrowser(request.headers) ? this.#begin(pathname + search) : admission;
    }
    if (isRead && isBrowser(request.headers)) return this.#begin(pathname + search);
    const error = new AppError(
      "unauthenticated",
      "a token is missing: Authorization: Bearer TOKEN",
    );
    return { kind: "refused", error, challenge: 'Bearer realm="nexus"' };
  }

  async #caller(token: string): Promise<Admission> {
    const claims = await this.#provider.verify(token);
    return { kind: "caller", principal: callerOf(claims, this.#provider.settings) };
  }

  async #begin(returnTo: string): Promise<Admission> {
    const { location, sealed } = await this.#logins.begin(returnTo);
    const cookies = [this.#cookie(LOGIN, sealed, limits.oidcLoginMsMax / 1_000)];
    return { kind: "redirect", location, cookies };
  }

  async #finish({ headers }: Pick<IncomingMessage, "headers">, query: URLSearchParams) {
    const sealed = cookieOf(headers.cookie, LOGIN) ?? "";
    const { token, returnTo } = await this.#logins.finish(query, sealed);
    const claims = await this.#provider.verify(token);
    callerOf(claims, this.#provider.settings);
    if (token.length > limits.oidcCookieCharsMax) {
      const { oidcCookieCharsMax: max } = limits;
      throw new AppError(
        "unauthenticated",
        `the token has more than ${max} characters, more than browsers store`,
      );
    }
    const left = Math.max(0, Math.floor((claims.exp ?? 0) - this.#nowMs() / 1_000));
    const cookies = [this.#cookie(TOKEN, token, left), this.#cookie(LOGIN, "", 0)];
    return { kind: "redirect", location: returnTo, cookies } as const;
  }

  async #refusing(run: () => Promise<Admission>): Promise<Admission> {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "unauthenticated") throw error;
      const told = error.problem.replace(/[^\x20-\x7e]|["\\]/g, "?");
      const challenge = `Bearer realm="nexus", error="invalid_token", error_description="${told}"`;
      return { kind: "refused", error, challenge };
    }
  }

  #cookie(name: string, value: string, maxAgeSeconds: number): string {
    const path = name === LOGIN ? this.#callbackPath : "/";
    return setCookie(name, value, { path, isSecure: this.#isSecure, maxAgeSeconds });
  }
}

/** The header is for programs and takes precedence: a browser sends its cookie with every request of a page. */
function tokenOf({ authorization, cookie }: IncomingMessage["headers"]): string | undefined {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  if (bearer !== undefined) return bearer;
  if (authorization !== undefined) return authorization; // another kind of credential: no token
  return cookieOf(cookie, TOKEN);
}

/** Whether the client is a browser, whose user can log in. */
const isBrowser = ({ accept = "" }: IncomingMessage["headers"]): boolean =>
  accept.includes("text/html");
