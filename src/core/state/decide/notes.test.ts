import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { World } from "../../../testing/world.ts";

const note = (label: string) => ({ labels: { label }, annotations: {} });

test("a note is written, counted and removed, and an outdated version is rejected", () => {
  const world = new World();
  const put = (label: string | undefined, ifVersion?: number): unknown =>
    world.do({
      kind: "put-notes",
      notes: [{ id: "Job/1", note: label === undefined ? undefined : note(label), ifVersion }],
    });
  put("a", 0);
  expect(() => put("b", 0)).toThrow("Job/1 has been changed");
  put("b", 1);
  expect(world.state.notes.get("Job/1")).toMatchObject({ labels: { label: "b" }, version: 2 });
  put(undefined);
  expect(world.state.notes.size).toBe(0);
});

test("several notes are all written, or none", () => {
  const world = new World();
  const notes = [
    { id: "Job/1", note: note("a") },
    { id: "Job/2", note: note("a"), ifVersion: 5 },
  ];
  expect(() => world.do({ kind: "put-notes", notes })).toThrow("Job/2");
  expect(world.state.notes.size).toBe(0);
});

test("labels and annotations are bounded", () => {
  const world = new World();
  const put = (wrong: object): unknown =>
    world.do({ kind: "put-notes", notes: [{ id: "Job/1", note: { ...note("a"), ...wrong } }] });
  expect(() => put({ labels: { "a b": "" } })).toThrow("metadata.labels");
  const long = "x".repeat(limits.noteBytesMax);
  expect(() => put({ annotations: { long } })).toThrow("metadata.annotations");
});
