import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ByteBlocks } from "./byte-blocks.ts";

test("blocks hold the bytes of all pieces in order, and do not retain the arrays of the pieces", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 40 });
  fc.assert(
    fc.property(pieces, (chunks) => {
      const blocks = new ByteBlocks();
      for (const chunk of chunks) blocks.append(chunk);
      const all = Buffer.concat(chunks);
      expect(blocks.length).toBe(all.length);
      expect(blocks.head.equals(all.subarray(0, blocks.head.length))).toBe(true);
      for (const chunk of chunks) chunk.fill(0);
      expect(blocks.take().equals(all)).toBe(true);
      expect(blocks.length).toBe(0);
    }),
  );
});
