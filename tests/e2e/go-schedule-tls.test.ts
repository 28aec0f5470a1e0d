import { Client, credentials } from "@grpc/grpc-js";
import { writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { authority, client, server } from "../../src/api/grpc/testing/certificates.ts";
import { call, connect, failure } from "../../src/api/grpc/testing/grpc-client.ts";
import { Scheduler } from "../../src/gen/goschedule/v1/scheduler_pb.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

async function ask(dialled: Client): Promise<string> {
  try {
    return (await call(dialled, Scheduler.method.setTaskState, { id: "nobody's" })).$typeName;
  } finally {
    dialled.close();
  }
}

function withFiles(): { secure: (own: boolean, at: string) => Client; flags: string[] } {
  const file = (name: string, text: string): string => {
    writeFileSync(site.path(name), text);
    return site.path(name);
  };
  return {
    secure: (own, at) =>
      new Client(
        at.replace("0.0.0.0", "localhost"),
        credentials.createSsl(
          Buffer.from(authority),
          own ? Buffer.from(client.key) : null,
          own ? Buffer.from(client.cert) : null,
        ),
        { "grpc.enable_http_proxy": 0 },
      ),
    flags: [
      ["--go-schedule-cert", file("cert", server.cert)],
      ["--go-schedule-key", file("key", server.key)],
      ["--go-schedule-ca", file("ca", authority)],
    ].flat(),
  };
}

test("beyond loopback go-schedule's port accepts only clients with a certificate", async () => {
  site = new Site();
  const { secure, flags } = withFiles();
  const running = await site.startServer("--go-schedule", "0.0.0.0:0", ...flags);
  const at = await running.prints(/go-schedule:\s+(\S+:\d+)/);
  expect(await ask(secure(true, at))).toBe("proto.Empty");
  expect((await failure(ask(secure(false, at)))).details).not.toBe("");
  expect((await failure(ask(connect(at.replace("0.0.0.0", "127.0.0.1"))))).details).not.toBe("");
  // On loopback, like Busbar's own port here.
  expect(await ask(connect(site.server))).toBe("proto.Empty");
});

test("it does not exist unless it is requested", async () => {
  site = new Site();
  await site.startServer();
  expect((await failure(ask(connect(site.server)))).details).toContain("there is no method");
});

test("where other machines can reach Busbar's own port, it exists only when that is allowed", async () => {
  const open = ["--go-schedule", "127.0.0.1:0", "--grpc", "0.0.0.0:0", "--insecure-listen"];
  const main = (): Client => connect(site.server.replace("0.0.0.0", "127.0.0.1"));
  site = new Site();
  const first = await site.startServer(...open);
  expect((await failure(ask(main()))).details).toContain("there is no method");
  await first.end("SIGTERM");
  const second = await site.startServer(...open, "--go-schedule-insecure");
  await second.prints(/every client that can reach this server can run any command/);
  expect(await ask(main())).toBe("proto.Empty");
});
