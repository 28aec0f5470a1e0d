import { create } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { TaskSchema } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { KnownSizes, readShareOutput, type ShareOutputOptions } from "./share-output.ts";

interface Part {
  readonly text: string;
  readonly hasEnded: boolean;
}

/** A job below with these shares; each read returns at most `most` bytes. */
function aJob(parts: readonly Part[], most: number): ShareOutputOptions {
  const tasks = parts.map(({ hasEnded }, index) =>
    create(TaskSchema, {
      id: `7.${index}`,
      index,
      startedAtMs: 1n,
      ...(hasEnded && { endedAtMs: 2n }),
    }),
  );
  const pages = [tasks.slice(0, 1), tasks.slice(1)];
  const listTasks = async ({ pageToken }: { pageToken?: string }) => ({
    tasks: pages[Number(pageToken ?? 0)] ?? [],
    ...(pageToken === undefined && { nextPageToken: "1" }),
  });
  return {
    api: { listTasks } as unknown as ShareOutputOptions["api"],
    signal: new AbortController().signal,
    read: async (taskId, offset) => {
      const text = parts[Number(taskId.split(".")[1])]?.text ?? "";
      const data = new TextEncoder().encode(text.slice(offset, offset + most));
      return { part: { data, truncated: false }, isAll: offset + most >= text.length };
    },
  };
}

/** Reads until no output follows, or to the end. */
async function readAll(
  options: ShareOutputOptions,
  isOver: boolean,
  from = 0,
  sizes = new KnownSizes(),
) {
  let text = "";
  for (;;) {
    const how = { isOver, stream: "stdout", sizes };
    const { data, eof } = await readShareOutput("7", from + text.length, how, options);
    text += new TextDecoder().decode(data);
    if (eof || data.length === 0) return { text, eof };
  }
}

test("equals the outputs of its shares, one after the other, from any offset, whatever is remembered", async () => {
  const part = fc.record({
    text: fc.string({ unit: "grapheme-ascii" }),
    hasEnded: fc.constant(true),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 5 }),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(30),
      fc.boolean(),
      async (parts, most, from, isFresh) => {
        const options = aJob(parts, most);
        const sizes = new KnownSizes();
        if (!isFresh) await readAll(options, true, 0, sizes);
        const all = parts.map(({ text }) => text).join("");
        const start = Math.min(from, all.length);
        expect(await readAll(options, true, start, sizes)).toEqual({
          text: all.slice(start),
          eof: true,
        });
      },
    ),
  );
});

test("the output of a share follows when those before it have ended; the output ends with the job", async () => {
  const [first, second] = [
    { text: "one\n", hasEnded: false },
    { text: "two\n", hasEnded: true },
  ];
  expect(await readAll(aJob([first, second], 9), false)).toEqual({ text: "one\n", eof: false });
  const ended = [{ ...first, hasEnded: true }, second];
  expect(await readAll(aJob(ended, 9), false)).toEqual({ text: "one\ntwo\n", eof: false });
  expect(await readAll(aJob(ended, 9), true)).toEqual({ text: "one\ntwo\n", eof: true });
  expect(await readAll(aJob([], 9), true)).toEqual({ text: "", eof: true });
});
