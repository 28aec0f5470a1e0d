import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import type { SecretHasher } from "../ports/secret-hasher.ts";

/** 16 MiB and some 50 ms for each guess. */
const COST_LOG2 = 14;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** The limit of the settings that a row may contain, whoever wrote the row. */
const COST_LOG2_MAX = 18;

interface Settings {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  readonly salt: Buffer;
}

/** "$scrypt$ln=14,r=8,p=1$<salt>$<key>", both in base64. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/=]+)\$([\w+/=]+)$/;

/** "$sha256$<salt>$<digest>", both in base64. */
const FAST_FORM = /^\$sha256\$([\w+/=]+)\$([\w+/=]+)$/;

/** scrypt is slow, SHA-256 is fast. */
export function createSecretHasher(costLog2 = COST_LOG2): SecretHasher {
  return {
    async hash(secret) {
      const salt = randomBytes(SALT_BYTES);
      const settings = { cost: 2 ** costLog2, blockSize: BLOCK_SIZE, parallel: PARALLEL, salt };
      const key = await derive(secret, settings, KEY_BYTES);
      const terms = `ln=${costLog2},r=${BLOCK_SIZE},p=${PARALLEL}`;
      return `$scrypt$${terms}$${salt.toString("base64")}$${key.toString("base64")}`;
    },
    hashRandom(secret) {
      const salt = randomBytes(SALT_BYTES).toString("base64");
      return `$sha256$${salt}$${digest(salt, secret).toString("base64")}`;
    },
    isSlow: (hash) => !FAST_FORM.test(hash),
    async isOf(hash, secret) {
      const [, fastSalt, fastDigest = ""] = FAST_FORM.exec(hash) ?? [];
      if (fastSalt !== undefined) {
        const stored = Buffer.from(fastDigest, "base64");
        return stored.length === KEY_BYTES && timingSafeEqual(digest(fastSalt, secret), stored);
      }
      const [, ln, r, p, salt, key] = FORM.exec(hash) ?? [];
      if (salt === undefined || key === undefined || Number(ln) > COST_LOG2_MAX) return false;
      const wanted = Buffer.from(key, "base64");
      const settings = {
        cost: 2 ** Number(ln),
        blockSize: Number(r),
        parallel: Number(p),
        salt: Buffer.from(salt, "base64"),
      };
      return timingSafeEqual(await derive(secret, settings, wanted.length), wanted);
    },
  };
}

const digest = (salt: string, secret: string): Buffer =>
  createHash("sha256").update(`${salt}\0${secret}`).digest();

function derive(secret: string, settings: Settings, bytes: number): Promise<Buffer> {
  const { cost, blockSize, parallel, salt } = settings;
  // The needed memory and some more: the default suffices only for our own settings.
  const maxmem = 256 * cost * blockSize;
  return new Promise((resolve, reject) => {
    scrypt(
      secret,
      salt,
      bytes,
      { cost, blockSize, parallelization: parallel, maxmem },
      (error, key) => (error === null ? resolve(key) : reject(error)),
    );
  });
}
