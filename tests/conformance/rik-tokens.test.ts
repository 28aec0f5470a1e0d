import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { HpackDecoder } from "../../src/lib/http2/hpack-decoder.ts";
import { limits } from "../../src/limits.ts";
import { Site } from "../support/busbar.ts";
import { RikSite, rikPrograms, STATUS } from "./support/rik.ts";

// Duty D of rik's scheduler: the user part of the URL that rik's programs use is in `:authority` of every call.
const { running, terminated } = STATUS;
const SECRET = "a-secret-of-the-cluster";

let site: RikSite;
beforeAll(async () => {
  site = new RikSite();
  const file = site.path("secret");
  writeFileSync(file, `${SECRET}\n`, { mode: 0o600 });
  await site.startRik("--rik-secret-file", file);
}, 300_000);
afterEach(() => site.clear(), 120_000);
afterAll(() => site.close());

const make = (role: string, name: string, password = SECRET): Promise<Response> =>
  fetch(`http://${site.rest}/api/v0/tokens.create`, {
    method: "POST",
    body: JSON.stringify({ role, name }),
    headers: { authorization: `Basic ${Buffer.from(`ops:${password}`).toString("base64")}` },
  });

async function userOf(role: "worker" | "controller", name: string): Promise<string> {
  const { token } = (await (await make(role, name)).json()) as { token: string };
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  return `${name}:${token}@`;
}

test("D: tokens are made with the secret alone", async () => {
  expect((await make("worker", "edge", "wrong")).status).toBe(401);
  expect(
    (await make("worker", "edge", (await userOf("controller", "ops")).slice(4, -1))).status,
  ).toBe(403);
});

test("D: workers and controllers with tokens work, are distinguished, and are recorded by name", async () => {
  const edge = await site.workerAs(await userOf("worker", "edge"), "edge");
  await site.workerAs(`any:${SECRET}@`, "core");
  await site.nodesAre(2);
  const web = await site.controllerAs(await userOf("controller", "web"));
  const shop = await site.controllerAs(await userOf("controller", "shop"));
  await web.create("one");
  await shop.create("two");
  await web.told("one", running);
  await shop.told("two", running);
  expect([web.statuses("two"), shop.statuses("one")]).toEqual([[], []]);
  await shop.destroy("one");
  await web.destroy("one");
  await web.told("one", terminated);
  expect(shop.statuses("one")).toEqual([]);
  const { jobs } = await site.client.listJobs({ pageSize: 10 });
  const named = new Map(jobs.map((job) => [job.spec?.name, job]));
  expect(named.get("one")).toMatchObject({ submittedBy: "rik:web", cancelledBy: "rik:web" });
  expect(named.get("two")).toMatchObject({ submittedBy: "rik:shop" });

  // Another controller of the same name continues where the last one was killed.
  await shop.running.end("SIGKILL");
  const again = await site.controllerAs(await userOf("controller", "shop"));
  await again.told("two", running);
  expect(again.statuses("one")).toEqual([]);
  expect(edge.of("ended")).toEqual([]);
});

describe("D: no caller is accepted", () => {
  const refused = async (user: string, host: string) => site.tryWorkerAs(user, host).until("ended");
  const wrong = (name: string) => ({
    code: "Unauthenticated",
    message: `the token of ${name} is wrong`,
  });

  test("as a worker without a token, with a wrong one, or with that of another", async () => {
    const edge = await userOf("worker", "edge");
    expect(await refused("", "edge")).toMatchObject({
      code: "Unauthenticated",
      message: "a name and a token are missing: http://NAME:TOKEN@HOST",
    });
    expect(await refused("edge:wrong@", "edge")).toMatchObject(wrong("edge"));
    expect(await refused(edge.replace("edge", "core"), "core")).toMatchObject(wrong("core"));
    expect(await refused(await userOf("controller", "edge"), "edge")).toMatchObject(wrong("edge"));
    expect(await refused(edge, "core")).toMatchObject({ code: "PermissionDenied" });
    await site.nodesAre(0);
  });

  test("as a controller without a token, or with a wrong one", async () => {
    const worker = await userOf("worker", "web");
    for (const user of ["", "web:wrong@", worker]) {
      const controller = site.tryController(user, "-deaf");
      await controller.create("never");
      expect(controller.of("answered").at(-1)?.code).toBe("Unauthenticated");
    }
    expect((await site.client.getStats({})).jobs["pending"] ?? 0n).toBe(0n);
  });
});

const name = fc.constantFrom(
  ":authority",
  ":path",
  "te",
  "user-agent",
  "x-a",
  "x-b",
  "authorization",
);
const value = fc.oneof(
  fc.constantFrom("", "w:t@host:4995", "trailers", "long ".repeat(100)),
  fc.string({ unit: "grapheme-ascii", maxLength: 30 }),
);
const fields = fc.array(fc.record({ Name: name, Value: value, Sensitive: fc.boolean() }), {
  maxLength: 10,
});
const tableSize = fc.option(fc.constantFrom(0, 100, 4_096), { nil: undefined, freq: 4 });

test("headers encoded by Go, with its table and Huffman codes, decode correctly", async () => {
  const program = join(await rikPrograms(), "headers");
  const blocks = fc.sample(fc.record({ fields, tableSize }), 500);
  const input = blocks.map((block) => JSON.stringify(block)).join("\n");
  const { stdout, stderr } = spawnSync(program, { input, encoding: "utf8", maxBuffer: 2 ** 26 });
  expect(stderr).toBe("");
  const lines = stdout.split("\n");
  const { http2HeaderTableBytes: tableBytes, http2HeaderBytesMax: listBytes } = limits;
  const decoder = new HpackDecoder({ tableBytes, listBytes });
  blocks.forEach((block, at) => {
    const decoded = decoder.decode(Buffer.from(lines[at] ?? "", "hex"));
    const wanted = block.fields.map((field) => [field.Name, field.Value]);
    expect(decoded.map((field) => [field.name, field.value])).toEqual(wanted);
  });
});

test("a server without rik's REST leaves its port to rik's own controller", async () => {
  const own = new Site();
  try {
    const any = "127.0.0.1:0";
    const server = await own.startServer(
      "--rik",
      any,
      "--rik-controller",
      any,
      "--rik-rest",
      "off",
    );
    await server.prints(/rik controllers:\s+\S+:\d+[^]*Data:/); // the lines that follow
    expect(server.output).not.toContain("rik REST");
  } finally {
    await own.close();
  }
});
