import { describe, expect, test } from "vitest";
import { runHere } from "../../testing/context.ts";
import { entriesOf } from "./entries-flags.ts";

type Context = Parameters<typeof entriesOf>[1];

const read = (flags: Parameters<typeof entriesOf>[0], content: string | Buffer) =>
  entriesOf(flags, { readInput: async () => Buffer.from(content) } as unknown as Context);
const lines = (content: string | Buffer) => read({ eachLine: "f" }, content);
const elements = (content: string) => read({ fromJson: "f" }, content);

describe("entries of a file", () => {
  test("a mark of an editor at the start is no part of the first", async () => {
    expect(await lines("\uFEFFa\r\nb")).toEqual(["a", "b"]);
    expect(await elements("\uFEFF[1]")).toEqual(["1"]);
  });

  test("numbers of JSON stay as they were written", async () => {
    expect(await elements('[12345678901234567890, {"id": 1.50, "x": [-0]}, "1"]')).toEqual([
      "12345678901234567890",
      '{"id":1.50,"x":[-0]}',
      '"1"',
    ]);
  });

  test("a line that a task could not receive unchanged is rejected", async () => {
    const latin = Buffer.from("a\nb\xe9.txt\n", "latin1");
    await expect(lines(latin)).rejects.toThrow("--each-line: line 2 is not UTF-8 text");
    await expect(lines("a\nb\0")).rejects.toThrow("--each-line: line 2 has a NUL character");
  });
});

test("a script or a file of jobs that is not UTF-8 is rejected", async () => {
  const readInput = async () => Buffer.from("#!/bin/sh\necho \xe9\n", "latin1");
  for (const flag of ["--script", "--file"]) {
    const { code, stderr } = await runHere(["submit", flag, "f"], { readInput });
    expect([code, stderr]).toEqual([
      2,
      `busbar: ${flag}: line 2 is not UTF-8 text; convert it, e.g. by iconv\n`,
    ]);
  }
});
