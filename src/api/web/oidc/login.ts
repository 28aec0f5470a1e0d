import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { visible } from "../../../core/model/texts.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { fetchJson } from "./fetch-json.ts";
import type { OidcProvider } from "./provider.ts";

/** The state of a login in the browser, sealed, until the provider sends it back. */
interface Pending {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  readonly expiresAtMs: number;
}

export interface LoginOptions {
  readonly provider: OidcProvider;
  readonly clientSecret: string | undefined;
  readonly nowMs: () => number;
}

export interface LoggedIn {
  readonly token: string;
  readonly returnTo: string;
}

const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const random = (): string => randomBytes(KEY_BYTES).toString("base64url");

/**
 * Logins of browsers: authorization code with PKCE (RFC 7636). The server stores nothing about a login under way; after
 * a restart the login begins again.
 */
export class Logins {
  readonly #options: LoginOptions;
  readonly #key = randomBytes(KEY_BYTES);

  constructor(options: LoginOptions) {
    this.#options = options;
  }

  /** The address for the browser, and the sealed state that it brings back. `returnTo`: a path of this server. */
  async begin(returnTo: string): Promise<{ readonly location: string; readonly sealed: string }> {
    const { provider, nowMs } = this.#options;
    const { clientId, redirectUrl, scopes, audience } = provider.settings;
    const [state, nonce, verifier] = [random(), random(), random()];
    const location = new URL((await provider.endpoints()).authorization);
    const asked = {
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUrl,
      scope: scopes.join(" "),
      state,
      nonce,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
      ...(audience === undefined ? {} : { audience, resource: audience }),
    };
    for (const [name, value] of Object.entries(asked)) location.searchParams.set(name, value);
    const expiresAtMs = nowMs() + limits.oidcLoginMsMax;
    const sealed = this.#seal({ state, nonce, verifier, returnTo, expiresAtMs });
    return { location: location.href, sealed };
  }

  /** Throws AppError when the provider rejected the login, or another browser began it. */
  async finish(query: URLSearchParams, sealed: string): Promise<LoggedIn> {
    const pending = this.#open(sealed);
    if (pending === undefined || pending.expiresAtMs < this.#options.nowMs()) {
      throw new AppError(
        "unauthenticated",
        "the login was not started here, or took too long: start again",
      );
    }
    if (query.get("state") !== pending.state) {
      throw new AppError("unauthenticated", "the answer belongs to another login: start again");
    }
    const problem = query.get("error");
    const code = query.get("code");
    if (problem !== null || code === null) {
      const why = query.get("error_description") ?? problem ?? "it sent no code";
      throw new AppError("unauthenticated", `the OpenID provider refused: ${visible(why, 200)}`);
    }
    const told = await this.#exchange(code, pending.verifier);
    return { token: await this.#tokenOf(told, pending.nonce), returnTo: pending.returnTo };
  }

  async #exchange(code: string, verifier: string): Promise<Readonly<Record<string, unknown>>> {
    const { provider, clientSecret } = this.#options;
    const { clientId, redirectUrl, issuer, audience } = provider.settings;
    const { token } = await provider.endpoints();
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUrl,
      code_verifier: verifier,
      ...(audience === undefined ? {} : { resource: audience }),
      ...(clientSecret === undefined ? { client_id: clientId } : {}),
    });
    const headers =
      clientSecret === undefined ? {} : { authorization: basic(clientId, clientSecret) };
    try {
      return await fetchJson(token, { method: "POST", body, headers });
    } catch (cause) {
      throw new AppError(
        "unavailable",
        `the OpenID provider ${issuer} gave no token; log in again`,
        {
          cause,
        },
      );
    }
  }

  /** The access token if it can be checked here; for providers whose access tokens only they can read, the ID token. */
  async #tokenOf(told: Readonly<Record<string, unknown>>, nonce: string): Promise<string> {
    const { provider } = this.#options;
    const { access_token: access, id_token: id } = told;
    const isReadable = typeof access === "string" && access.split(".").length === 3;
    if (typeof id === "string" && (await provider.verify(id))["nonce"] !== nonce) {
      throw new AppError("unauthenticated", "the ID token belongs to another login: start again");
    }
    const token = isReadable ? access : id;
    if (typeof token === "string") return token;
    throw new AppError("unauthenticated", "the OpenID provider sent no token that can be checked");
  }

  #seal(pending: Pending): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#key, iv);
    const sealed = Buffer.concat([cipher.update(JSON.stringify(pending)), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64url");
  }

  /** Undefined: it was not sealed here. */
  #open(text: string): Pending | undefined {
    const bytes = Buffer.from(text, "base64url");
    if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
    const cipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, IV_BYTES), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      const rest = bytes.subarray(IV_BYTES + TAG_BYTES);
      return JSON.parse(Buffer.concat([cipher.update(rest), cipher.final()]).toString()) as Pending;
    } catch {
      return undefined;
    }
  }
}

const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`;
