import { writeFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { call, connect, failure, openBidi } from "../../src/api/grpc/testing/grpc-client.ts";
import { Health } from "../../src/gen/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { RainbowScheduler } from "../../src/gen/rainbow/v1/rainbow_pb.ts";
import { Site } from "../support/busbar.ts";

let site: Site;
beforeEach(() => {
  site = new Site();
});
afterEach(() => site.close());

const NATIVE = ["busbar.v1.Agents", "busbar.v1.Busbar"];
const BUILTIN = [
  "grpc.health.v1.Health",
  "grpc.reflection.v1.ServerReflection",
  "grpc.reflection.v1alpha.ServerReflection",
];
const RAINBOW = ["convergedcomputing.org.grpc.v1.RainbowScheduler", "service.MemoryGraph"];
const GO_SCHEDULE = ["proto.Scheduler"];

/** The services that reflection lists, which must equal those of health checks. */
async function servicesAt(address: string): Promise<readonly string[]> {
  const client = connect(address);
  const info = openBidi(client, ServerReflection.method.serverReflectionInfo);
  try {
    const answer = await new Promise<ServerReflectionResponse>((resolve, reject) => {
      info.once("data", resolve);
      info.once("error", reject);
      const messageRequest = { case: "listServices", value: "" } as const;
      info.write(create(ServerReflectionRequestSchema, { messageRequest }));
    });
    const { messageResponse: listed } = answer;
    if (listed.case !== "listServicesResponse") throw new Error(`it answers ${listed.case}`);
    const names = listed.value.service.map(({ name }) => name);
    const { statuses } = await call(client, Health.method.list);
    expect(Object.keys(statuses).toSorted()).toEqual(["", ...names].toSorted());
    return names;
  } finally {
    info.on("error", () => undefined);
    info.cancel();
    client.close();
  }
}

test("without their flags rainbow and go-schedule are not served or listed", async () => {
  await site.startServer();
  expect(await servicesAt(site.server)).toEqual([...NATIVE, ...BUILTIN].toSorted());
  const client = connect(site.server);
  const error = await failure(call(client, RainbowScheduler.method.updateState));
  client.close();
  expect(error.code).toBe(status.UNIMPLEMENTED);
});

test("each port lists the services of its own doors", async () => {
  const flags = ["--rainbow", "127.0.0.1:0", "--go-schedule", "127.0.0.1:0"];
  const server = await site.startServer(...flags);
  const rainbow = await server.prints(/Rainbow:\s+(\S+:\d+)/);
  const goSchedule = await server.prints(/go-schedule:\s+(\S+:\d+)/i);
  const onMain = [...NATIVE, ...RAINBOW, ...GO_SCHEDULE, ...BUILTIN];
  expect(await servicesAt(site.server)).toEqual(onMain.toSorted());
  expect(await servicesAt(rainbow)).toEqual([...RAINBOW, ...BUILTIN].toSorted());
  expect(await servicesAt(goSchedule)).toEqual([...GO_SCHEDULE, ...BUILTIN].toSorted());
});

test("a secret for rainbow's clients opens its door on the main port", async () => {
  const secret = site.path("secret");
  writeFileSync(secret, "a long enough secret\n", { mode: 0o600 });
  await site.startServer("--rainbow-secret-file", secret);
  expect(await servicesAt(site.server)).toEqual([...NATIVE, ...RAINBOW, ...BUILTIN].toSorted());
});
