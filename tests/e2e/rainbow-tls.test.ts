import { Client, credentials } from "@grpc/grpc-js";
import { writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { authority, client, server } from "../../src/api/grpc/testing/certificates.ts";
import { call, connect, failure } from "../../src/api/grpc/testing/grpc-client.ts";
import { RainbowScheduler } from "../../src/gen/rainbow/v1/rainbow_pb.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
afterEach(() => site.close());

const hello = { content: { id: "hello", metadata: {} } };
async function ask(dialled: Client): Promise<string> {
  try {
    return (await call(dialled, RainbowScheduler.method.serial, hello)).requestId;
  } finally {
    dialled.close();
  }
}

test("rainbow's port accepts TLS and plaintext, and Busbar's own has the services too", async () => {
  site = new Site();
  const file = (name: string, text: string): string => {
    writeFileSync(site.path(name), text);
    return site.path(name);
  };
  const files = [
    ["--rainbow-cert", file("cert", server.cert)],
    ["--rainbow-key", file("key", server.key)],
    ["--rainbow-ca", file("ca", authority)],
  ];
  const running = await site.startServer("--rainbow", "127.0.0.1:0", ...files.flat());
  const at = await running.prints(/Rainbow:\s+(\S+:\d+)/);
  const secure = (own: boolean): Client =>
    new Client(
      at.replace("127.0.0.1", "localhost"),
      credentials.createSsl(
        Buffer.from(authority),
        own ? Buffer.from(client.key) : null,
        own ? Buffer.from(client.cert) : null,
      ),
      { "grpc.enable_http_proxy": 0 },
    );
  expect(await ask(secure(true))).toBe("hello");
  expect(await ask(connect(at))).toBe("hello");
  expect(await ask(connect(site.server))).toBe("hello");
  expect((await failure(ask(secure(false)))).details).not.toBe("");

  const bad = await site.run(
    "server",
    "--rainbow",
    "127.0.0.1:0",
    "--rainbow-cert",
    "/none",
    "--rainbow-key",
    "/none",
  );
  expect(bad.stderr).toContain("--rainbow-cert: cannot be read");
  expect(bad.code).not.toBe(0);
});
