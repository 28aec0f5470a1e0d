import type { JWTPayload } from "jose";
import type { UserPrincipal } from "../../../core/access/principal.ts";
import { isPrintable } from "../../../core/model/texts.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { OidcSettings } from "./settings.ts";

/** Providers use different names: Okta, RFC 9068, OpenID Connect. */
const CLIENT_CLAIMS = ["cid", "client_id", "azp"] as const;

/**
 * The caller of a token whose signature, issuer and times were checked. Throws AppError, `unauthenticated`, when the token was made for
 * another client or audience, or lacks a claim.
 */
export function callerOf(claims: JWTPayload, settings: OidcSettings): UserPrincipal {
  const { clientId, audience, claims: wanted, userClaim } = settings;
  const clients = CLIENT_CLAIMS.map((name) => claims[name]).filter((one) => one !== undefined);
  const audiences = [claims.aud ?? []].flat();
  // ID tokens have an audience instead of a client, and it is the client.
  const isOurs =
    clients.length > 0
      ? clients.every((client) => client === clientId)
      : audiences.includes(clientId);
  if (!isOurs) throw refused(`the token was not made for the client ${clientId}`);
  if (audience !== undefined && !audiences.includes(audience)) {
    throw refused(`the token is not meant for ${audience}`);
  }
  // A provider's logout token looks like an access token.
  if (claims["events"] !== undefined) throw refused("the token is not an access token");
  for (const [name, value] of Object.entries(wanted)) {
    if (![claims[name] ?? []].flat().includes(value)) {
      throw refused(`the token's claim ${name} is not ${value}`);
    }
  }
  const user = claims[userClaim];
  const isName =
    typeof user === "string" &&
    user !== "" &&
    user.length <= limits.userNameCharsMax &&
    isPrintable(user);
  if (!isName) throw refused(`the token's claim ${userClaim} is not a name`);
  return { kind: "user", name: user };
}

const refused = (problem: string): AppError => new AppError("unauthenticated", problem);
