import { invalid } from "../../../lib/errors.ts";

/** How a door identifies its callers: by an OpenID provider, with this server as one of its clients. */
export interface OidcSettings {
  /** The issuer's name: "https://id.example.com". */
  readonly issuer: string;
  readonly clientId: string;
  /** Absent: the provider requires none of this client. */
  readonly clientSecretFile?: string;
  /** The URL to which the provider sends browsers back: this server, as they reach it. */
  readonly redirectUrl: string;
  readonly scopes: readonly string[];
  /** The audience of tokens; absent: only the client is checked. */
  readonly audience?: string;
  /** Required claims of a token, in addition to its audience. A list in a token must contain the value. */
  readonly claims: Readonly<Record<string, string>>;
  /** The claim with the name of a user. */
  readonly userClaim: string;
}

type Fields = Readonly<Record<string, unknown>>;

const KEYS: Readonly<Record<keyof OidcSettings, true>> = {
  issuer: true,
  clientId: true,
  clientSecretFile: true,
  redirectUrl: true,
  scopes: true,
  audience: true,
  claims: true,
  userClaim: true,
};

/** Throws an AppError that names the field. */
export function parseOidcSettings(text: string, flag: string): OidcSettings {
  const fields = parseObject(text, flag);
  const unknown = Object.keys(fields).find((key) => !(key in KEYS));
  if (unknown !== undefined) {
    throw invalid(flag, `${unknown}: is not known; there are ${Object.keys(KEYS).join(", ")}`);
  }
  const textOf = (key: keyof OidcSettings): string | undefined => {
    const value = fields[key];
    if (value === undefined) return undefined;
    if (typeof value === "string" && value !== "") return value;
    throw invalid(flag, `${key}: must be a text`);
  };
  const needed = (key: keyof OidcSettings): string => {
    const value = textOf(key);
    if (value === undefined) throw invalid(flag, `${key}: is missing`);
    return value;
  };
  const optional = (key: "clientSecretFile" | "audience") => {
    const value = textOf(key);
    return value === undefined ? {} : { [key]: value };
  };
  return {
    issuer: url(needed("issuer"), "issuer", flag),
    clientId: needed("clientId"),
    redirectUrl: url(needed("redirectUrl"), "redirectUrl", flag),
    userClaim: textOf("userClaim") ?? "sub",
    scopes: scopesOf(fields["scopes"], flag),
    claims: claimsOf(fields["claims"], flag),
    ...optional("clientSecretFile"),
    ...optional("audience"),
  };
}

function parseObject(text: string, flag: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(flag, `is not JSON: ${cause instanceof Error ? cause.message : "unreadable"}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw invalid(flag, "must be a JSON object");
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Passwords and tokens are sent there: only with encryption, or on this machine. */
function url(text: string, key: string, flag: string): string {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe =
    parsed?.protocol === "https:" ||
    (parsed?.protocol === "http:" && LOOPBACK.has(parsed.hostname));
  if (isSafe && parsed.hash === "" && parsed.username === "") return text;
  throw invalid(flag, `${key}: "${text}" is not an address, like https://id.example.com`);
}

function scopesOf(value: unknown, flag: string): readonly string[] {
  const scopes: unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [undefined];
  if (scopes.every((one) => typeof one === "string" && /^[\x21-\x7e]+$/.test(one))) {
    return [...new Set(["openid", ...(scopes as string[])])];
  }
  throw invalid(flag, "scopes: must be a list of texts without spaces");
}

function claimsOf(value: unknown, flag: string): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isObject && Object.values(value).every((one) => typeof one === "string")) {
    return value as Record<string, string>;
  }
  throw invalid(flag, "claims: must be an object whose values are texts");
}
