import { expect, test } from "vitest";
import { addressOf } from "./peer-address.ts";

const cases = [
  { name: "IPv4", peer: "192.0.2.7:4711", want: "192.0.2.7" },
  { name: "IPv4 on a socket for both", peer: "::ffff:192.0.2.7:4711", want: "192.0.2.7" },
  { name: "IPv6", peer: "2001:db8::7:4711", want: "2001:db8::7" },
  { name: "IPv6 that only begins like a mapped one", peer: "::ffff:0:7:4711", want: "::ffff:0:7" },
  { name: "IPv6 of one link", peer: "fe80::1%eth0:4711", want: "fe80::1%eth0" },
  { name: "loopback", peer: "::1:4711", want: "::1" },
  { name: "a connection that is gone", peer: "undefined:undefined", want: undefined },
];
for (const { name, peer, want } of cases) {
  test(`the address of ${name}`, () => {
    expect(addressOf(peer)).toBe(want);
  });
}
