import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import type { SecretHasher } from "../ports/secret-hasher.ts";

/** 16 MiB and some 50 ms for each guess. */
const COST_LOG2 = 14;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;
/** What a row may ask of us, whoever has written it. */
const COST_LOG2_MAX = 18;

interface Settings {
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  readonly salt: Buffer;
}

/** "$scrypt$ln=14,r=8,p=1$<salt>$<key>", both in base64. */
const FORM = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/=]+)\$([\w+/=]+)$/;

export function createScryptHasher(costLog2 = COST_LOG2): SecretHasher {
  return {
    async hash(secret) {
      const salt = randomBytes(SALT_BYTES);
      const settings = { cost: 2 ** costLog2, blockSize: BLOCK_SIZE, parallel: PARALLEL, salt };
      const key = await derive(secret, settings, KEY_BYTES);
      const terms = `ln=${costLog2},r=${BLOCK_SIZE},p=${PARALLEL}`;
      return `$scrypt$${terms}$${salt.toString("base64")}$${key.toString("base64")}`;
    },
    async isOf(hash, secret) {
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

function derive(secret: string, settings: Settings, bytes: number): Promise<Buffer> {
  const { cost, blockSize, parallel, salt } = settings;
  // As much as it needs, and some: the default is too little for anything stronger than ours.
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
