import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../src/testing/eventually.ts";
import { isAlive } from "../../src/testing/is-alive.ts";
import { Site } from "../support/busbar.ts";

const command = fileURLToPath(new URL("../../busbar", import.meta.url));

let site: Site;
let server = -1;
beforeEach(() => {
  site = new Site();
});
afterEach(async () => {
  if (server > 0 && isAlive(server)) process.kill(server, "SIGKILL"); // a test failed
  await site.close();
});

/** Through npm, as a project of a user does it. */
async function npmStart(script: string) {
  const folder = site.path("project");
  mkdirSync(folder);
  writeFileSync(`${folder}/package.json`, JSON.stringify({ scripts: { start: script } }));
  const npm = site.startProgram(["start"], { program: "npm", cwd: folder });
  await npm.prints(/gRPC:\s+(\S+:\d+)/);
  server = Number(readFileSync(site.path("data/busbar.pid"), "utf8").trim());
  expect(isAlive(server)).toBe(true);
  return npm;
}

test("a hangup ends busbar up, but not below nohup", async () => {
  const listen = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0"];
  const up = (data: string) => ["up", "--data", site.path(data), ...listen];
  const plain = site.start(up("plain"));
  await plain.prints(/gRPC:/);
  await plain.end("SIGHUP");
  expect(plain.child.signalCode).toBe("SIGHUP");
  const lasting = site.startProgram([command, ...up("lasting")], { program: "nohup" });
  site.server = await lasting.prints(/gRPC:\s+(\S+:\d+)/);
  lasting.child.kill("SIGHUP");
  const ran = await site.run("run", "--", "sh", "-c", "echo ${BUSBAR_NOHUP-clean}");
  expect(ran).toMatchObject({ code: 0, stdout: "clean\n" });
  expect(await lasting.end("SIGTERM")).toBe(0);
});

test.each(["SIGTERM", "SIGKILL"] as const)("busbar up ends with its npm: %s", async (signal) => {
  const data = `--data ${site.path("data")} --http 127.0.0.1:0 --grpc 127.0.0.1:0`;
  const npm = await npmStart(`${command} up ${data}`);
  await npm.end(signal);
  await eventually(() => !isAlive(server), { what: "the server to end" });
});
