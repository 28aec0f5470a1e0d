import { expect, test } from "vitest";
import { createSecretHasher } from "./secret-hasher.ts";

const quick = createSecretHasher(4);

test("a hash matches its own text only, and no two hashes are equal", async () => {
  for (const secret of ["chocolate-cookies", "", "ä\u{1F36A}", "x".repeat(1_024)]) {
    const [one, other] = [await quick.hash(secret), await quick.hash(secret)];
    expect(one).not.toBe(other);
    if (secret !== "") expect(one).not.toContain(secret);
    expect(await quick.isOf(one, secret)).toBe(true);
    expect(await quick.isOf(other, secret)).toBe(true);
    expect(await quick.isOf(one, `${secret} `)).toBe(false);
  }
});

test("a hash contains its settings: hashes with other settings stay valid", async () => {
  const hasher = createSecretHasher();
  const hash = await hasher.hash("a");
  expect(hash).toMatch(/^\$scrypt\$ln=14,r=8,p=1\$[\w+/]{22}==\$[\w+/]{43}=$/);
  expect(await quick.isOf(hash, "a")).toBe(true);
  expect(await hasher.isOf(await quick.hash("a"), "a")).toBe(true);
});

test("the hash of a random text is fast, matches its own text only, and no two are equal", async () => {
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
  test(`a hash in an unknown format matches no text: ${hash}`, async () => {
    expect(await quick.isOf(hash, "a")).toBe(false);
    expect(await quick.isOf(hash, "")).toBe(false);
  });
}
