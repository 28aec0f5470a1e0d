const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/**
 * The address of a caller, without its port; undefined when the connection is already closed. A socket that listens on IPv6 and IPv4
 * reports IPv4 callers as mapped IPv6: this returns their IPv4 address.
 */
export function addressOf(peer: string): string | undefined {
  const address = peer.slice(0, peer.lastIndexOf(":")).replace(MAPPED, "");
  return address === "" || address === "undefined" ? undefined : address;
}
