/** The value of a cookie of a request; undefined: there is none. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const at = pair.indexOf("=");
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
}

export interface CookieOptions {
  readonly path: string;
  readonly isSecure: boolean;
  /** 0 removes it. */
  readonly maxAgeSeconds: number;
}

/** Scripts cannot read it, and other sites cannot cause it to be sent except by a link to this server. */
export const setCookie = (
  name: string,
  value: string,
  { path, isSecure, maxAgeSeconds }: CookieOptions,
): string =>
  `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax` +
  (isSecure ? "; Secure" : "");
