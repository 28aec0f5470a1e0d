import { expect, test } from "vitest";
import { dialAddress, formatAddress, isLoopback, parseAddress } from "./address.ts";

for (const text of ["127.0.0.1:7071", "[::1]:7071", "busbar.example:0"]) {
  test(`${text} parses and prints unchanged`, () => {
    expect(formatAddress(parseAddress(text, "--server"))).toBe(text);
  });
}

for (const text of ["", "7071", "localhost", ":7071", "a:b", "a:70710", "::1:7071", "a b:1"]) {
  test(`"${text}" is rejected, and the error names the right form`, () => {
    expect(() => parseAddress(text, "--server")).toThrow(/^--server: .*write it like 127/);
  });
}

test("a URL is not taken for an address", () => {
  expect(() => parseAddress("http://a:1", "--server")).toThrow("is a URL");
});

test("the address of a server that listens everywhere is loopback", () => {
  expect(dialAddress({ host: "0.0.0.0", port: 7 })).toEqual({ host: "127.0.0.1", port: 7 });
  expect(dialAddress({ host: "::", port: 7 })).toEqual({ host: "::1", port: 7 });
  expect(dialAddress({ host: "10.0.0.1", port: 7 })).toEqual({ host: "10.0.0.1", port: 7 });
  expect(isLoopback("127.0.0.9")).toBe(true);
  expect(isLoopback("10.0.0.1")).toBe(false);
});
