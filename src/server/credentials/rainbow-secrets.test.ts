import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { isRight } from "../../testing/is-right.ts";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import { createSystemRandom } from "../../system/random.ts";
import { prepareRainbowSecrets, type RainbowSecretSources } from "./rainbow-secrets.ts";

const REGISTER = { kind: "register" } as const;
let data: string;
let disk: MemoryDisk;
let plane: TestPlane;
let warned: string[];

beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), "busbar-secrets-"));
  disk = new MemoryDisk();
  warned = [];
  await start();
});
afterEach(async () => {
  await plane.close();
  rmSync(data, { recursive: true });
});

async function start(): Promise<void> {
  ({ plane } = await aPlane({ store: createMemoryStore(disk) }));
}
async function restart(): Promise<void> {
  await plane.close();
  await start();
}
const prepare = (given: Partial<RainbowSecretSources> = {}) =>
  prepareRainbowSecrets(
    { data, ...given },
    {
      ...plane,
      random: createSystemRandom(),
      logger: { ...silentLogger, warn: (_, message) => void warned.push(message) },
    },
  );
const opens = (secret: string) => isRight(plane.authenticator, REGISTER, secret);
const path = (name: string) => join(data, name);
const made = () => readFileSync(path("rainbow-secret"), "utf8").trim();
function write(name: string, content: string, mode = 0o600): string {
  writeFileSync(path(name), content);
  chmodSync(path(name), mode);
  return path(name);
}

const LONG = "0123456789abcdef";

describe("a register secret that the operator did not set", () => {
  test("is made once, readable by its owner only, and stays", async () => {
    expect(await prepare()).toBe(path("rainbow-secret"));
    const text = made();
    expect(statSync(path("rainbow-secret")).mode & 0o777).toBe(0o600);
    expect(await opens(text)).toBe(true);
    await restart();
    expect(await prepare()).toBe(path("rainbow-secret"));
    expect(made()).toBe(text);
    expect(await opens(text)).toBe(true);
  });

  test("is the one in the file when a start was killed before it was stored", async () => {
    write("rainbow-secret", "left-behind\n");
    expect(await prepare()).toBe(path("rainbow-secret"));
    expect(await opens("left-behind")).toBe(true);
  });

  test("is not reported to be in a file that is out of date", async () => {
    await prepare();
    const old = made();
    await plane.operations.setCredentials({ registerSecret: "imported" });
    await restart();
    expect(await prepare()).toBeUndefined();
    expect([await opens("imported"), await opens(old)]).toEqual([true, false]);
  });
});

describe("secrets that operators set", () => {
  test("a file takes precedence over the environment, and both over the stored secret", async () => {
    await prepare();
    expect(await prepare({ secret: "from-env" })).toBeUndefined();
    expect([await opens("from-env"), await opens(made())]).toEqual([true, false]);
    const secretFile = write("mine", "from-file, which is long\n");
    expect(await prepare({ secret: "from-env", secretFile })).toBe(secretFile);
    expect([await opens("from-file, which is long"), await opens("from-env")]).toEqual([
      true,
      false,
    ]);
    expect(warned).toEqual([]);
  });

  test("the same text again writes nothing", async () => {
    const secretFile = write("mine", "from-file\n");
    await prepare({ secretFile });
    const before = plane.state.credentials.inOrder;
    await restart();
    await prepare({ secretFile });
    expect(plane.state.credentials.inOrder).toEqual(before);
  });

  test("a global token exists as long as the operator names its file", async () => {
    const globalTokenFile = write("token", "everywhere");
    const times = async () => Object.keys(await plane.operations.getServerCredentials());
    await prepare({ globalTokenFile });
    expect(await times()).toEqual(["registerSinceMs", "globalTokenSinceMs"]);
    await prepare();
    expect(await times()).toEqual(["registerSinceMs"]);
  });

  test("warns about a file that other users may read", async () => {
    await prepare({ secretFile: write("mine", LONG, 0o644) });
    expect(warned).toEqual(["other users of this machine can read this secret file; chmod 600 it"]);
  });

  test("warns about a short secret", async () => {
    await prepare({ secretFile: write("short", LONG.slice(1)) });
    expect(warned).toEqual(["this secret is short and may be guessed; openssl rand -hex 32"]);
    await prepare({ secretFile: write("long", LONG) });
    expect(warned).toHaveLength(1);
  });

  const wrong: readonly [string, () => Partial<RainbowSecretSources>, string][] = [
    ["empty", () => ({ secretFile: write("e", "\n") }), "--rainbow-secret-file: must not be empty"],
    ["two lines", () => ({ globalTokenFile: write("e", "a\nb") }), "-token-file: must be one line"],
    ["no file", () => ({ secretFile: path("no") }), "--rainbow-secret-file: there is no "],
    ["empty variable", () => ({ secret: "" }), "BUSBAR_RAINBOW_SECRET: must not be empty"],
    ["a folder", () => ({ secretFile: data }), "read "],
  ];
  for (const [name, given, message] of wrong) {
    test(`are rejected: ${name}`, async () => {
      await expect(prepare(given())).rejects.toThrow(message);
      expect(await plane.operations.getServerCredentials()).toEqual({});
    });
  }
});
