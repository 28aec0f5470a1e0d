import * as fc from "fast-check";
import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { bytesOf } from "../testing/wire.ts";
import { SatisfyRequests } from "./satisfy-requests.ts";

test("each message is decoded as it is, whatever was decoded before", () => {
  const requests = new SatisfyRequests();
  const text = fc.oneof(fc.constantFrom("", "a", "ä", "C$", "match"), fc.string());
  fc.assert(
    fc.property(fc.array(fc.record({ payload: text, matcher: text })), (given) => {
      for (const one of [...given, ...given]) {
        const bytes = bytesOf([1, one.payload], [2, one.matcher]);
        expect(requests.decode(bytes)).toEqual(one);
        bytes.fill(0); // the bytes of a call are used again
      }
    }),
  );
});

test("the same message is the same object, unless it is long or was not used for long", () => {
  const requests = new SatisfyRequests();
  const ask = (payload: string) => requests.decode(bytesOf([1, payload]));
  const first = ask("0");
  for (let at = 1; at < limits.knownSatisfyRequestsMax; at++) ask(String(at));
  expect(ask("0")).toBe(first);
  for (let at = 0; at < limits.knownSatisfyRequestsMax; at++) ask(`x${at}`);
  expect(ask("0")).not.toBe(first);
  const long = "x".repeat(limits.knownSatisfyBytesMax);
  expect(ask(long)).toEqual(ask(long));
  expect(ask(long)).not.toBe(ask(long));
});

test("a message that cannot be decoded is rejected each time", () => {
  const requests = new SatisfyRequests();
  for (let time = 0; time < 2; time++) {
    expect(() => requests.decode(Buffer.from([0xff]))).toThrow();
    expect(() => requests.decode(bytesOf([1, Buffer.from([0xc3, 0x28])]))).toThrow();
  }
});
