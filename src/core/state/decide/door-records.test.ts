import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { World } from "../../../testing/world.ts";

test("records are written, replaced and removed", () => {
  const world = new World();
  const put = (id: string, text: string | undefined): unknown =>
    world.do({ kind: "put-door-records", records: [{ id, text }] });
  put("rik/a", "1");
  put("rik/a", "2");
  expect([...world.state.doorRecords.values()]).toEqual([{ id: "rik/a", text: "2" }]);
  put("rik/a", undefined);
  put("rik/a", undefined);
  expect(world.state.doorRecords.size).toBe(0);
});

test("of several records all are written, or none", () => {
  const world = new World();
  const text = "x".repeat(limits.doorRecordCharsMax + 1);
  const records = [
    { id: "rik/a", text: "1" },
    { id: "rik/b", text },
  ];
  expect(() => world.do({ kind: "put-door-records", records })).toThrow("text: has");
  expect(() => world.do({ kind: "put-door-records", records: [{ id: "a", text: "" }] })).toThrow(
    "must begin with its door",
  );
  expect(world.state.doorRecords.size).toBe(0);
});
