const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * Where a caller is, without its port; undefined when the connection is already gone. A socket that
 * listens on IPv6 and IPv4 tells IPv4 callers as mapped IPv6: they are shown as they know themselves.
 */
export function addressOf(peer: string): string | undefined {
  const address = peer.slice(0, peer.lastIndexOf(":")).replace(MAPPED, "");
  return address === "" || address === "undefined" ? undefined : address;
}
