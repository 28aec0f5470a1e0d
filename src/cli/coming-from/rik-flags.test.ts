import { expect, test } from "vitest";
import { rikOf } from "./rik-flags.ts";

const NONE = {
  rikController: undefined,
  rikRest: undefined,
  rikSecretFile: undefined,
  rikInsecure: undefined,
  rikForget: undefined,
};

test("the ports are those where rik's programs look for each other", () => {
  const rest = "127.0.0.1:5000";
  expect(rikOf({ ...NONE, rik: true })).toMatchObject({
    workers: "127.0.0.1:4995",
    controllers: "127.0.0.1:4996",
    rest,
  });
  expect(rikOf({ ...NONE, rik: "127.0.0.1:1", rikRest: "127.0.0.1:2" })?.rest).toBe("127.0.0.1:2");
});

test("REST that is off has no address", () => {
  expect(rikOf({ ...NONE, rik: true, rikRest: "off" })).not.toHaveProperty("rest");
});
