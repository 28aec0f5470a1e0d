import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { call, connect } from "../../src/api/grpc/testing/grpc-client.ts";
import { RainbowScheduler } from "../../src/gen/rainbow/v1/rainbow_pb.ts";
import { isRight, type ShownAs } from "../../src/testing/is-right.ts";
import { createSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import { createSecretHasher } from "../../src/system/secret-hasher.ts";
import { Site } from "../support/busbar.ts";
import { aPlane } from "../../src/testing/plane.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";

let site: Site;
beforeEach(() => {
  site = new Site();
});
afterEach(() => site.close());

const GRAPH = { graph: { nodes: { "0": { metadata: { type: "cluster" } } }, edges: [] } };

function file(name: string, content: string, mode = 0o600): string {
  writeFileSync(site.path(name), content);
  chmodSync(site.path(name), mode);
  return site.path(name);
}

interface Issued {
  readonly secret: string;
  readonly token: string;
}

async function register(name: string): Promise<Issued> {
  const graph = file("graph.json", JSON.stringify(GRAPH));
  const flags = ["--graph", graph, "--credentials"];
  return (await site.json<{ issued: Issued }>("cluster", "register", name, ...flags)).issued;
}

/** The answer of the next server, over the disk that the last one left. */
async function opens(questions: readonly (readonly [ShownAs, string])[]) {
  const store = await createSqliteStore({ directory: site.path("data"), logger: silentLogger });
  const { plane } = await aPlane({ store, hasher: createSecretHasher() });
  try {
    const answers: boolean[] = [];
    for (const [which, secret] of questions) {
      answers.push(await isRight(plane.authenticator, which, secret));
    }
    return answers;
  } finally {
    await plane.close();
  }
}

/** Sends a state as a cluster's client of rainbow does. */
async function tellState(secret: string): Promise<string> {
  const client = connect(site.server);
  const request = { cluster: "blue", secret, payload: '{"nodes_free": 2}' };
  try {
    await call(client, RainbowScheduler.method.updateState, request);
    return "told";
  } catch (error) {
    return (error as { readonly details: string }).details;
  } finally {
    client.close();
  }
}

const secretOf = (cluster: string): ShownAs => ({ kind: "cluster-secret", cluster });
const tokenOf = (cluster: string): ShownAs => ({ kind: "cluster-token", cluster });
const REGISTER: ShownAs = { kind: "register" };

test("rotated credentials survive kill -9, and the others are unchanged", async () => {
  const server = await site.startServer();
  const old = await register("blue");
  const fresh = await site.json<Partial<Issued>>("cluster", "rotate", "blue", "--secret");
  await server.end("SIGKILL");
  expect(Object.keys(fresh)).toEqual(["cluster", "secret"]);
  expect(
    await opens([
      [secretOf("blue"), old.secret],
      [secretOf("blue"), fresh.secret ?? ""],
      [tokenOf("blue"), old.token],
    ]),
  ).toEqual([false, true, true]);
  await site.startServer("--rainbow", "127.0.0.1:0");
  expect(await tellState(old.secret)).toBe("request denied");
  expect(await tellState(fresh.secret ?? "")).toBe("told");
  const shown = await site.json("cluster", "show", "blue");
  const times = { secretSinceMs: expect.any(Number), tokenSinceMs: expect.any(Number) } as object;
  expect(shown).toMatchObject({ credentials: times });
  expect(JSON.stringify(shown)).not.toContain("scrypt");
});

test("the register secret is that of the file or of the environment, also after a restart", async () => {
  const first = await site.startServer("--rainbow-secret-file", file("mine", "from-file\n"));
  expect(await first.prints(/Register secret:\s+(\S+)/)).toBe(site.path("mine"));
  await first.end("SIGKILL");
  expect(await opens([[REGISTER, "from-file"]])).toEqual([true]);
  const args = ["server", "--data", site.path("data"), "--http", "127.0.0.1:0"];
  const second = site.start([...args, "--grpc", "127.0.0.1:0"], {
    BUSBAR_RAINBOW_SECRET: "from-env",
  });
  await second.prints(/gRPC:\s+(\S+:\d+)/);
  await second.end("SIGTERM");
  expect(
    await opens([
      [REGISTER, "from-file"],
      [REGISTER, "from-env"],
    ]),
  ).toEqual([false, true]);
});

/** All bytes that a directory holds. */
function bytesIn(directory: string): Buffer {
  const parts = readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path));
  return Buffer.concat(parts);
}

describe("no secret", () => {
  test("is in the log, the database, or the output of other commands", async () => {
    const known = { register: "SECRET-of-registration", global: "TOKEN-for-everybody" };
    const secrets = ["--rainbow-secret-file", file("register", known.register)];
    const tokens = ["--rainbow-global-token-file", file("global", known.global)];
    const server = await site.startServer("--log-level", "debug", ...secrets, ...tokens);
    const made = await register("blue");
    const rotated = await site.json<Issued>("cluster", "rotate", "blue");
    const rest = await fetch(`${site.http}/v1/clusters/blue/credentials/rotate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    const { issued } = (await rest.json()) as { issued: Issued };
    const imported = { secret: "SECRET-from-rainbow", token: "TOKEN-from-rainbow" };
    const config = {
      scheduler: { secret: "SECRET-of-rainbow" },
      cluster: { name: "blue", secret: imported.secret },
      clusters: [{ name: "blue", token: imported.token }],
    };
    const path = file("rainbow-config.yaml", JSON.stringify(config));
    const taken = await site.run("rainbow-config", "import", path);
    expect(taken.code).toBe(0);
    expect(await tellState(imported.secret)).toBe("told");
    expect(await tellState("SECRET-guessed")).toBe("request denied");
    const wrong = await fetch(`${site.http}/v1/credentials`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ clusters: [{ name: "red", secret: "SECRET-of-nobody" }] }),
    });
    expect(wrong.status).toBe(404);
    const shown = await site.run("cluster", "show", "blue", "--output", "json");
    await server.end("SIGTERM");

    const texts = [
      ...Object.values(known),
      ...[made, rotated, issued, imported].flatMap(({ secret, token }) => [secret, token]),
      config.scheduler.secret,
      "SECRET-of-nobody",
      "SECRET-guessed",
    ];
    expect(new Set(texts).size).toBe(13);
    const stored = bytesIn(site.path("data"));
    expect(stored.includes("scrypt")).toBe(true); // the database is read as raw bytes
    const told = [server.output, shown.stdout, taken.stdout, taken.stderr].join("\n");
    expect(server.output).toMatch(/debug|"level":20|stopping/i);
    for (const text of texts) {
      expect([text, stored.includes(text), told.includes(text)]).toEqual([text, false, false]);
    }
    expect(
      await opens([
        [secretOf("blue"), imported.secret],
        [tokenOf("blue"), imported.token],
        [REGISTER, config.scheduler.secret],
        [tokenOf("blue"), known.global],
        [secretOf("blue"), issued.secret],
      ]),
    ).toEqual([true, true, true, true, false]);
  });
});
