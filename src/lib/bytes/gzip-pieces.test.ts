import { createGunzip, constants, gunzipSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { gzipPiece, GzipStream } from "./gzip-pieces.ts";

const aPiece = fc.record({
  plain: fc.oneof(
    fc.string({ maxLength: 3_000 }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(65_535, 65_536, 200_000).map((length) => Buffer.alloc(length, "event: job\n")),
  ),
  isCompressed: fc.boolean(),
});

test("shared pieces decode to their input, whichever piece a stream begins with", () => {
  fc.assert(
    fc.property(fc.array(aPiece, { maxLength: 12 }), fc.nat(12), (given, begin) => {
      const pieces = given.map(({ plain, isCompressed }) => ({
        plain,
        piece: gzipPiece(plain, isCompressed),
      }));
      for (const shown of [pieces, pieces.slice(begin), pieces.toReversed()]) {
        const stream = new GzipStream();
        for (const { piece } of shown) stream.add(piece);
        const last = Buffer.from("closed");
        const sent = [stream.head, ...shown.map(({ piece }) => piece), stream.end(last)];
        const plain = Buffer.concat([...shown.map((each) => each.plain), last]);
        // gunzipSync checks length and checksum.
        expect(gunzipSync(Buffer.concat(sent)).equals(plain)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test("a decoder returns a piece as soon as it has arrived, however the network cuts it", async () => {
  const cuts = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(aPiece, { minLength: 1, maxLength: 5 }), cuts, async (given, by) => {
      const gunzip = createGunzip({ flush: constants.Z_SYNC_FLUSH });
      let got = 0;
      gunzip.on("data", (chunk: Buffer) => (got += chunk.length));
      const write = (bytes: Buffer): Promise<void> =>
        new Promise((resolve) => gunzip.write(bytes, () => resolve()));
      await write(new GzipStream().head);
      let want = 0;
      for (const { plain, isCompressed } of given) {
        const piece = gzipPiece(plain, isCompressed);
        for (let at = 0, cut = 0; at < piece.length; cut++) {
          const end = at + (by[cut % by.length] ?? 1);
          await write(piece.subarray(at, end));
          at = end;
        }
        want += plain.length;
        expect(got).toBe(want);
      }
      gunzip.destroy();
    }),
    { numRuns: 25 },
  );
});

test("uncompressed pieces stay readable, and grow by ten bytes", () => {
  const piece = gzipPiece(Buffer.from("event: job\n\n"), false);
  expect(piece.subarray(5, -5).toString()).toBe("event: job\n\n");
});

test("a piece ends with an empty block: some decoders return nothing of a short block before it", () => {
  const flush = Buffer.from([0, 0, 0xff, 0xff]);
  for (const isCompressed of [true, false]) {
    const piece = gzipPiece(Buffer.from("event: job\n"), isCompressed);
    expect(piece.subarray(-flush.length)).toEqual(flush);
  }
});
