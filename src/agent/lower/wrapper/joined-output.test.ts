import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";

import type { Piece } from "./joined-output.ts";
import { readJoined } from "./joined-output.ts";

const root = mkdtempSync(join(tmpdir(), "busbar-joined-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

function piece(text: string, title: string, state: Piece["state"]): Piece {
  const directory = join(root, String((count += 1)));
  mkdirSync(directory);
  if (state !== "waiting") writeFileSync(join(directory, "stdout"), text);
  return { directory, title, state };
}

async function readAll(pieces: readonly Piece[], maxBytes: number, limitBytes: number) {
  let text = "";
  for (;;) {
    const range = { offset: text.length, maxBytes };
    const part = await readJoined(pieces, "stdout", range, limitBytes);
    text += Buffer.from(part.data).toString("latin1");
    if (part.eof || part.data.length === 0) {
      return { text, eof: part.eof, truncated: part.truncated };
    }
  }
}

const ascii = fc.string({ maxLength: 12 });

test("ended parts read as one text, whatever the size of the reads and the limit", async () => {
  const some = fc.array(fc.tuple(ascii, ascii, fc.constantFrom("ended", "never")), {
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(
      some,
      fc.integer({ min: 1, max: 9 }),
      fc.nat(40),
      async (parts, bite, limit) => {
        const pieces = parts.map(([text, title, state]) => piece(text, title, state as "ended"));
        const whole = parts
          .filter(([, , state]) => state === "ended")
          .map(([text, title]) => title + text)
          .join("");
        expect(await readAll(pieces, bite, limit)).toEqual({
          text: whole.slice(0, limit),
          eof: true,
          truncated: whole.length > limit,
        });
      },
    ),
    { numRuns: 60 },
  );
});

test("output after an active part is not read before that part has ended", async () => {
  const first = piece("a", "== one\n", "running");
  const second = piece("b", "== two\n", "ended");
  expect(await readAll([first, second], 100, 100)).toMatchObject({ text: "== one\na", eof: false });
  const ended = { ...first, state: "ended" } as const;
  const last = piece("", "== three\n", "waiting");
  expect(await readAll([ended, second, last], 100, 100)).toMatchObject({
    text: "== one\na== two\nb",
    eof: false,
  });
});
