import { expect, test } from "vitest";
import { areTrailers, requestHeadOf } from "./header-rules.ts";

const field = (name: string, value: string) => ({ name, value, isSensitive: false });
const PSEUDO = [
  field(":method", "POST"),
  field(":scheme", "http"),
  field(":path", "/s/M"),
  field(":authority", "host:1"),
];
const headersOf = (...fields: readonly (readonly [string, string])[]) =>
  requestHeadOf([...PSEUDO, ...fields.map(([name, value]) => field(name, value))]);

test("fields with one name are joined, except where only the first one counts", () => {
  const head = headersOf(
    ["x-a", "1"],
    ["x-a", "2"],
    ["cookie", "a"],
    ["cookie", "b"],
    ["authorization", "first"],
    ["authorization", "second"],
    ["__proto__", "x"],
  );
  expect(head?.headers).toMatchObject({ "x-a": "1, 2", cookie: "a; b", authorization: "first" });
  expect(head?.contentBytes).toBe(-1);
  expect(headersOf(["content-length", "17"])?.contentBytes).toBe(17);
});

test.for([
  ["an upper-case name", "X-a", "1"],
  ["an empty name", "", "1"],
  ["a name with a space", "x a", "1"],
  ["a name with a colon inside", "x:a", "1"],
  ["a field about the connection", "connection", "close"],
  ["a field about the connection", "transfer-encoding", "chunked"],
  ["a field about the connection", "upgrade", "h2c"],
  ["a field about the connection", "keep-alive", "1"],
  ["a field about the connection", "proxy-connection", "1"],
  ["te other than trailers", "te", "trailers, deflate"],
  ["a line feed", "x-a", "1\n2"],
  ["a carriage return", "x-a", "1\r2"],
  ["a zero byte", "x-a", "1\u00002"],
  ["a space at the beginning", "x-a", " 1"],
  ["a tab at the end", "x-a", "1\t"],
  ["a length that is no number", "content-length", "-1"],
  ["an unknown pseudo-header", ":status", "200"],
  ["a pseudo-header twice", ":path", "/other"],
] as const)("%s is malformed: %s", ([, name, value]) => {
  expect(headersOf([name, value])).toBeUndefined();
  if (name !== "content-length") expect(areTrailers([field(name, value)])).toBe(false);
});

test("pseudo-headers come first, and all but one are required", () => {
  expect(requestHeadOf([field("x-a", "1"), ...PSEUDO])).toBeUndefined();
  for (const missing of PSEUDO) {
    const others = PSEUDO.filter((each) => each !== missing);
    expect(requestHeadOf(others) === undefined).toBe(missing.name !== ":authority");
  }
  expect(requestHeadOf([...PSEUDO.slice(0, 2), field(":path", "")])).toBeUndefined();
});

test("a user part in :authority is malformed where it was not converted", () => {
  const fields = [...PSEUDO.slice(0, 3), field(":authority", "w:t@host")];
  expect(requestHeadOf(fields)).toBeUndefined();
});

test("bytes beyond ASCII may be in values", () => {
  expect(headersOf(["x-a", "n\u00f6"])?.headers["x-a"]).toBe("n\u00f6");
});
