import { type ClientHttp2Session, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WatchRequestSchema } from "../../src/gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../src/limits.ts";
import { Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";

let site: Site;
const sessions: ClientHttp2Session[] = [];
beforeEach(() => {
  site = new Site();
});
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await site.close();
});

/** One watch of job 1, framed. */
function watchRequest(): Buffer {
  const message = toBinary(WatchRequestSchema, create(WatchRequestSchema, { jobId: "1" }));
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

/** Opens as many watches of one job as the server allows for one machine, including the reserve. */
function useUp(): void {
  const perConnection = limits.watchesPerConnectionMax;
  for (let open = 0; open < limits.watchesPerAddressMax + perConnection; open += perConnection) {
    const session = connect(`http://${site.server}`).on("error", () => undefined);
    sessions.push(session);
    for (let each = 0; each < perConnection; each++) {
      const headers = { ":method": "POST", ":path": "/busbar.v1.Busbar/Watch" };
      const stream = session.request({ ...headers, "content-type": "application/grpc" });
      stream.on("error", () => undefined).end(watchRequest());
      stream.resume(); // one that reads nothing is dropped in the end
    }
  }
}

test("with all watches in use, commands that wait for a job poll instead", async () => {
  const flags = ["--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--name", "local"];
  const running = site.start(["up", "--data", site.path("data"), ...flags]);
  site.server = await running.prints(/gRPC:\s+(\S+:\d+)/);
  await site.nodeIs("local", "connected");
  useUp();
  const isUsedUp = async (): Promise<boolean> =>
    (await site.json<{ watches: number }>("stats")).watches === limits.watchesPerAddressMax;
  await eventually(isUsedUp, { what: "all watches are open", timeoutMs: 60_000 });
  const ran = await site.run("run", "--", "sh", "-c", "echo hi");
  expect(ran).toMatchObject({ code: 0, stdout: "hi\n" });
  expect((await site.run("submit", "--wait", "--", "true")).code).toBe(0);
  expect((await site.run("submit", "--wait", "--", "false")).code).toBe(1);
  expect(await isUsedUp()).toBe(true);
});
