import { expect, test } from "vitest";
import { createSecretHasher } from "./secret-hasher.ts";

const quick = createSecretHasher(4);

test("a hash is of its own text only, and no two are the same", async () => {
  for (const secret of ["chocolate-cookies", "", "ä\u{1F36A}", "x".repeat(1_024)]) {
    const [one, other] = [await quick.hash(secret), await quick.hash(secret)];
    expect(one).not.toBe(other);
    if (secret !== "") expect(one).not.toContain(secret);
    expect(await quick.isOf(one, secret)).toBe(true);
    expect(await quick.isOf(other, secret)).toBe(true);
    expect(await quick.isOf(one, `${secret} `)).toBe(false);
  }
});

test("settings stand in the hash: those of others stay good", async () => {
  const hasher = createSecretHasher();
  const hash = await hasher.hash("a");
  expect(hash).toMatch(/^\$scrypt\$ln=14,r=8,p=1\$[\w+/]{22}==\$[\w+/]{43}=$/);
  expect(await quick.isOf(hash, "a")).toBe(true);
  expect(await hasher.isOf(await quick.hash("a"), "a")).toBe(true);
});

test("the hash of a random text is fast, of its own text only, and no two are the same", async () => {
  const [one, other] = [quick.hashRandom("s"), quick.hashRandom("s")];
  expect(one).toMatch(/^\$sha256\$[\w+/]{22}==\$[\w+/]{43}=$/);
  expect(one).not.toBe(other);
  expect([quick.isSlow(one), quick.isSlow(await quick.hash("s"))]).toEqual([false, true]);
  expect(await quick.isOf(one, "s")).toBe(true);
  expect(await quick.isOf(other, "s")).toBe(true);
  expect(await quick.isOf(one, "t")).toBe(false);
});

const foreign = [
  "",
  "a",
  "$scrypt$ln=14,r=8,p=1$$",
  "$scrypt$ln=30,r=8,p=1$AAAA$AAAA",
  "$sha256$AAAA$AAAA",
  "$sha256$$",
  "$2b$10$abcdefghijklmnopqrstuv",
];
for (const hash of foreign) {
  test(`what is not ours is of no text: ${hash}`, async () => {
    expect(await quick.isOf(hash, "a")).toBe(false);
    expect(await quick.isOf(hash, "")).toBe(false);
  });
}
