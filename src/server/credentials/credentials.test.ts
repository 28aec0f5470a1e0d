import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { QuickHasher } from "../../testing/quick-hasher.ts";
import { documentOf } from "../../core/graph/testing/documents.ts";
import type { SecretHasher } from "../../ports/secret-hasher.ts";
import { limits } from "../../limits.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import { newSecret } from "./credentials.ts";
import { isRight, type ShownAs } from "../../testing/is-right.ts";
import type { Operations } from "../operations/operations.ts";

const graph = documentOf({ type: "cluster", inside: [{ type: "node" }] });
const secretOf = (cluster: string): ShownAs => ({ kind: "cluster-secret", cluster });
const tokenOf = (cluster: string): ShownAs => ({ kind: "cluster-token", cluster });
const REGISTER: ShownAs = { kind: "register" };

let disk: MemoryDisk;
let hasher: QuickHasher;
let plane: TestPlane;
let operations: Operations;

async function start(with_: SecretHasher = hasher): Promise<void> {
  ({ plane } = await aPlane({ store: createMemoryStore(disk), hasher: with_ }));
  ({ operations } = plane);
}
beforeEach(async () => {
  disk = new MemoryDisk();
  hasher = new QuickHasher();
  await start();
});
afterEach(() => plane.close());

async function register(name = "blue") {
  const input = { name, graph, withCredentials: true };
  const { credentials = {} } = await operations.registerCluster(input);
  const { secret = "", token = "" } = credentials;
  return { secret, token };
}
const check = (which: ShownAs, secret: string) => isRight(plane.authenticator, which, secret);
const slowCostOf = async (which: ShownAs, secret: string): Promise<number> => {
  const before = hasher.slow;
  await check(which, secret);
  return hasher.slow - before;
};
const costOf = async (which: ShownAs, secret: string): Promise<number> => {
  const before = hasher.computed;
  await check(which, secret);
  return hasher.computed - before;
};

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("a registered cluster", () => {
  test("has a secret and a token, each valid for its own purpose", async () => {
    const { secret, token } = await register();
    expect([secret, token]).toEqual([expect.stringMatching(UUID4), expect.stringMatching(UUID4)]);
    expect(secret).not.toBe(token);
    expect(await check(secretOf("blue"), secret)).toBe(true);
    expect(await check(tokenOf("blue"), token)).toBe(true);
    expect(await check(secretOf("blue"), token)).toBe(false);
    expect(await check(tokenOf("blue"), secret)).toBe(false);
    for (const name of ["red", "BLUE", "%", "blue' or '1'='1", ""]) {
      expect(await check(secretOf(name), secret), name).toBe(false);
    }
    expect(await check(REGISTER, secret)).toBe(false);
  });

  test("has no credentials unless the registration requests them", async () => {
    const answer = await operations.registerCluster({ name: "blue", graph });
    expect(answer).not.toHaveProperty("credentials");
    expect(answer.cluster.credentials).toEqual({});
    expect(await check(secretOf("blue"), "")).toBe(false);
  });

  test("shows since when it has credentials, and nothing else about them", async () => {
    const { secret, token } = await register();
    const nowMs = expect.any(Number) as number;
    const view = await operations.getCluster("blue");
    expect(view.credentials).toEqual({ secretSinceMs: nowMs, tokenSinceMs: nowMs });
    const stored = JSON.stringify(plane.state.credentials.inOrder);
    expect(stored).toContain('"by":"local"');
    for (const text of [secret, token]) expect(stored).not.toContain(text);
  });

  test("keeps its secret when a second registration is rejected, and loses it when it is deleted", async () => {
    const { secret } = await register();
    await expect(register()).rejects.toThrow("cluster blue already");
    expect(await check(secretOf("blue"), secret)).toBe(true);
    await operations.deleteCluster("blue");
    expect(await check(secretOf("blue"), secret)).toBe(false);
    await register();
    expect(await check(secretOf("blue"), secret)).toBe(false);
  });
});

describe("rotation", () => {
  test("the old secret is invalid at once, also when its check was remembered", async () => {
    const old = await register();
    expect(await check(secretOf("blue"), old.secret)).toBe(true);
    const both = { secret: true, token: true };
    const { credentials } = await operations.rotateCredentials("blue", both);
    expect(await check(secretOf("blue"), old.secret)).toBe(false);
    expect(await check(tokenOf("blue"), old.token)).toBe(false);
    expect(await check(secretOf("blue"), credentials.secret ?? "")).toBe(true);
    expect(await check(tokenOf("blue"), credentials.token ?? "")).toBe(true);
    await plane.close();
    await start();
    expect(await check(secretOf("blue"), old.secret)).toBe(false);
    expect(await check(secretOf("blue"), credentials.secret ?? "")).toBe(true);
  });

  test("of one credential leaves the other", async () => {
    const old = await register();
    const which = { secret: false, token: true };
    const { credentials } = await operations.rotateCredentials("blue", which);
    expect(Object.keys(credentials)).toEqual(["token"]);
    expect(await check(secretOf("blue"), old.secret)).toBe(true);
    expect(await check(tokenOf("blue"), old.token)).toBe(false);
  });

  test("of nothing, or of an unknown cluster, is rejected", async () => {
    const rotate = (name: string, isWanted: boolean) =>
      operations.rotateCredentials(name, { secret: isWanted, token: isWanted });
    await register();
    await expect(rotate("blue", false)).rejects.toThrow(
      "secret: set secret, token or both to true",
    );
    await expect(rotate("red", true)).rejects.toThrow("there is no cluster red");
  });
});

describe("secrets that operators set", () => {
  test("are valid for what they are set for; equal ones stay", async () => {
    await register();
    const input = {
      registerSecret: "chocolate-cookies",
      clusters: [{ name: "blue", secret: "s", token: "t" }],
    };
    await operations.setCredentials(input);
    expect(await check(REGISTER, "chocolate-cookies")).toBe(true);
    expect(await check(secretOf("blue"), "s")).toBe(true);
    expect(await check(tokenOf("blue"), "t")).toBe(true);
    const before = plane.state.credentials.inOrder;
    await operations.setCredentials(input);
    expect(plane.state.credentials.inOrder).toEqual(before);
  });

  const wrong = [
    { input: { registerSecret: "" }, message: "registerSecret: must not be empty" },
    { input: { globalToken: "a\nb" }, message: "globalToken: must be one line of text" },
    {
      input: { clusters: [{ name: "blue", token: "x".repeat(1_025) }] },
      message: "clusters[0].token: must have at most 1024 characters",
    },
    { input: { clusters: [{ name: "red", token: "x" }] }, message: "there is no cluster red" },
    {
      input: { clusters: [{ name: "blue" }, { name: "blue" }] },
      message: "clusters[1].name: blue appears twice",
    },
  ];
  for (const { input, message } of wrong) {
    test(`are rejected: ${message}`, async () => {
      await register();
      const before = plane.state.credentials.inOrder;
      await expect(operations.setCredentials(input)).rejects.toThrow(message);
      expect(plane.state.credentials.inOrder).toEqual(before);
    });
  }

  test("a global token is valid for every cluster, until it is switched off", async () => {
    const { token } = await register();
    await operations.setCredentials({ globalToken: "rainbow" });
    expect(await check(tokenOf("blue"), "rainbow")).toBe(true);
    expect(await check(tokenOf("blue"), token)).toBe(true);
    expect(await check(tokenOf("red"), "rainbow")).toBe(false);
    expect(await check(secretOf("blue"), "rainbow")).toBe(false);
    await operations.setCredentials({ globalToken: null });
    expect(await check(tokenOf("blue"), "rainbow")).toBe(false);
    expect(await check(tokenOf("blue"), token)).toBe(true);
  });
});

describe("the cost of a check", () => {
  test("arises once for a correct secret, each time for a wrong one", async () => {
    const { secret } = await register();
    expect(await costOf(secretOf("blue"), secret)).toBe(1);
    expect(await costOf(secretOf("blue"), secret)).toBe(0);
    expect(await costOf(secretOf("blue"), "wrong")).toBe(1);
    expect(await costOf(secretOf("blue"), "wrong")).toBe(1);
    await costOf(secretOf("red"), secret); // makes the hash for missing rows
    expect(await costOf(secretOf("red"), secret)).toBe(1);
  });

  test("is the same for unknown clusters, with a global token too", async () => {
    await register();
    await operations.setCredentials({ globalToken: "rainbow" });
    await costOf(tokenOf("red"), "wrong");
    expect(await costOf(tokenOf("red"), "wrong")).toBe(await costOf(tokenOf("blue"), "wrong"));
    expect(await slowCostOf(tokenOf("red"), "wrong")).toBe(1); // compared with the global one
    expect(await slowCostOf(tokenOf("blue"), "wrong")).toBe(1);
    await operations.setCredentials({ clusters: [{ name: "blue", token: "of a person" }] });
    expect(await slowCostOf(tokenOf("red"), "wrong")).toBe(2);
    expect(await slowCostOf(tokenOf("blue"), "wrong")).toBe(2);
  });

  test("is small for secrets that the server made: a thousand clusters register at once", async () => {
    const { secret, token } = await register();
    expect(await check(secretOf("blue"), secret)).toBe(true);
    expect(await check(tokenOf("blue"), token)).toBe(true);
    await operations.rotateCredentials("blue", { secret: true, token: true });
    expect(await check(secretOf("blue"), secret)).toBe(false);
    expect(hasher.slow).toBe(0);
  });

  test("a global token is hashed once for many clusters", async () => {
    for (let at = 0; at < 20; at++) await register(`c${at}`);
    await operations.setCredentials({ globalToken: "rainbow" });
    const before = hasher.computed;
    const asked = Array.from({ length: 20 }, (_, at) => check(tokenOf(`c${at}`), "rainbow"));
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 20 }, () => true));
    expect(hasher.computed - before).toBe(1);
  });

  test("a secret that is too long costs nothing", async () => {
    expect(await costOf(REGISTER, "x".repeat(limits.secretLengthMax + 1))).toBe(0);
  });
});

/** A hasher that computes only when the test allows it, and counts the waiting calls. */
class SlowHasher extends QuickHasher {
  held: (() => void)[] = [];
  isHolding = false;
  running = 0;
  runningMost = 0;

  override async isOf(hash: string, secret: string): Promise<boolean> {
    this.running++;
    this.runningMost = Math.max(this.runningMost, this.running);
    if (this.isHolding) await new Promise<void>((resolve) => this.held.push(resolve));
    this.running--;
    return super.isOf(hash, secret);
  }

  release(): void {
    this.isHolding = false;
    for (const go of this.held.splice(0)) go();
  }
}

describe("many checks at once", () => {
  test("few run at a time, the rest wait, and too many are rejected", async () => {
    const slow = new SlowHasher();
    await plane.close();
    await start(slow);
    await operations.setCredentials({ registerSecret: "right" });
    slow.isHolding = true;
    const most = limits.secretChecksMax + limits.secretChecksWaitingMax;
    const asked = Array.from({ length: most + 1 }, (_, at) => check(REGISTER, `guess ${at}`));
    const [oldest] = asked.splice(limits.secretChecksMax, 1); // of those that wait
    await expect(oldest).rejects.toMatchObject({ code: "exhausted" });
    slow.release();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([false]));
    expect(slow.runningMost).toBe(limits.secretChecksMax);
    expect(await check(REGISTER, "right")).toBe(true);
  });

  test("a right secret does not wait behind guesses, whether it comes last or is shown again", async () => {
    const slow = new SlowHasher();
    await plane.close();
    await start(slow);
    await operations.setCredentials({ registerSecret: "right" });
    slow.isHolding = true;
    const ends: string[] = [];
    const show = (secret: string): Promise<unknown> =>
      check(REGISTER, secret).then(() => ends.push(secret));
    const guesses = (count: number, name: string): Promise<unknown>[] =>
      Array.from({ length: count }, (_, at) => show(`${name} ${at}`));
    const asked = [...guesses(limits.secretChecksMax, "first"), show("right")];
    asked.push(...guesses(50, "guess"), show("right"));
    slow.release();
    await Promise.all(asked);
    expect(ends.indexOf("right")).toBeLessThanOrEqual(limits.secretChecksMax);
  });

  test("the same correct secret is hashed once", async () => {
    const slow = new SlowHasher();
    await plane.close();
    await start(slow);
    await operations.setCredentials({ registerSecret: "right" });
    slow.isHolding = true;
    const before = slow.computed;
    const asked = Array.from({ length: 5_000 }, () => check(REGISTER, "right"));
    slow.release();
    expect(new Set(await Promise.all(asked))).toEqual(new Set([true]));
    expect(slow.computed - before).toBe(1);
  });
});

test("new secrets are UUIDs of version 4 for all random bytes", () => {
  for (const digit of "0123456789abcdef") {
    expect(newSecret({ token: (bytes) => digit.repeat(2 * bytes) })).toMatch(UUID4);
  }
});
