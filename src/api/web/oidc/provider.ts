import { createRemoteJWKSet, customFetch, errors, type JWTPayload, jwtVerify } from "jose";
import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import { fetchBounded, fetchJson } from "./fetch-json.ts";
import type { OidcSettings } from "./settings.ts";

/** Without algorithms that need a shared secret: anyone who can check such a token could make one. */
const ALGORITHMS = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

/** The endpoints of the provider. */
export interface Endpoints {
  readonly authorization: string;
  readonly token: string;
}

interface Known extends Endpoints {
  readonly keys: ReturnType<typeof createRemoteJWKSet>;
}

export interface ProviderOptions {
  readonly settings: OidcSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The time between two attempts to reach the provider; for tests. */
  readonly cooldownMs?: number | undefined;
}

/**
 * An OpenID provider as a client of it sees it: its description is read once, its keys again when they are old or a token names an unknown
 * one. While it is unreachable and there are no keys, the server refuses all callers: `unavailable`.
 */
export class OidcProvider {
  readonly settings: OidcSettings;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #cooldownMs: number;
  #known: Known | undefined;
  #asking: Promise<Known> | undefined;
  #failed: { readonly error: AppError; readonly untilMs: number } | undefined;

  constructor({ settings, clock, logger, cooldownMs }: ProviderOptions) {
    this.settings = settings;
    this.#clock = clock;
    this.#logger = logger;
    this.#cooldownMs = cooldownMs ?? limits.oidcCooldownMs;
  }

  async endpoints(): Promise<Endpoints> {
    return this.#find();
  }

  /** The claims of a token. Throws AppError: `unauthenticated`, or `unavailable` while the keys are unavailable. */
  async verify(token: string): Promise<JWTPayload> {
    if (token.length > limits.oidcTokenCharsMax) throw refused("the token is too long");
    const { keys } = await this.#find();
    const { issuer } = this.settings;
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        algorithms: ALGORITHMS,
        requiredClaims: ["exp"],
        clockTolerance: limits.oidcClockSkewMs / 1_000,
        currentDate: new Date(this.#clock.nowMs()),
      });
      return payload;
    } catch (error) {
      throw isAboutToken(error) ? refused(problemOf(error)) : this.#unreachable(error);
    }
  }

  #find(): Promise<Known> {
    if (this.#known !== undefined) return Promise.resolve(this.#known);
    const { error, untilMs = 0 } = this.#failed ?? {};
    if (error !== undefined && this.#clock.nowMs() < untilMs) return Promise.reject(error);
    this.#asking ??= this.#discover().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #discover(): Promise<Known> {
    const { issuer } = this.settings;
    const from = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    try {
      const told = await fetchJson(from);
      if (told["issuer"] !== issuer) {
        throw new Error(`its issuer is ${JSON.stringify(told["issuer"])}`);
      }
      const keys = createRemoteJWKSet(new URL(urlOf(told, "jwks_uri")), {
        timeoutDuration: limits.oidcAnswerMsMax,
        cooldownDuration: this.#cooldownMs,
        cacheMaxAge: limits.oidcKeysAgeMsMax,
        [customFetch]: fetchBounded,
      });
      const [authorization, token] = [
        urlOf(told, "authorization_endpoint"),
        urlOf(told, "token_endpoint"),
      ];
      return (this.#known = { keys, authorization, token });
    } catch (cause) {
      const error = this.#unreachable(cause);
      this.#failed = { error, untilMs: this.#clock.nowMs() + this.#cooldownMs };
      throw error;
    }
  }

  #unreachable(cause: unknown): AppError {
    const { issuer } = this.settings;
    this.#logger.warn(
      { issuer, error: describeChain(cause) },
      "the OpenID provider did not answer",
    );
    return new AppError(
      "unavailable",
      `the OpenID provider ${issuer} does not answer; try again soon`,
      {
        cause,
      },
    );
  }
}

const refused = (problem: string): AppError => new AppError("unauthenticated", problem);

/** Whether the token is at fault, not the connection to the keys. */
const isAboutToken = (error: unknown): boolean =>
  error instanceof errors.JOSEError &&
  !(error instanceof errors.JWKSTimeout) &&
  !(error instanceof errors.JWKSInvalid) &&
  error.code !== "ERR_JOSE_GENERIC";

function problemOf(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "the token has expired";
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `the token's claim ${error.claim} is ${error.reason === "missing" ? "missing" : "wrong"}`;
  }
  if (error instanceof errors.JWKSNoMatchingKey)
    return "the token was signed with a key that the provider does not publish";
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return "the token's signature is wrong";
  return "the token cannot be read";
}

function urlOf(told: Readonly<Record<string, unknown>>, key: string): string {
  const value = told[key];
  if (typeof value === "string" && URL.canParse(value)) return value;
  throw new Error(`its ${key} is not a URL`);
}
