import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type WatchEvent,
  WatchEventSchema,
  WatchRequestSchema,
} from "../../src/gen/busbar/v1/busbar_pb.ts";
import { Site, type Running } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { rainbowPython } from "./support/rainbow-python.ts";

// Third-party programs read compressed watches of a real server as the events arrive.
const script = (name: string): string => fileURLToPath(new URL(`watch/${name}`, import.meta.url));
const MANY = 2_000;

let site: Site;
let server: Running;
let python = "";
beforeAll(async () => {
  ({ python } = await rainbowPython("0.0.16"));
  site = new Site();
  server = await site.startServer();
}, 300_000);
afterAll(() => site.close());

const submit = async (count: number): Promise<void> => {
  const spec = { command: ["/bin/true"] };
  await site.client.submitJobs({ jobs: Array.from({ length: count }, () => ({ spec })) });
};

/** Each step is seen before the next one happens. */
async function seesEachStep(count: () => number): Promise<void> {
  let want = 0;
  for (const step of [1, 1, MANY, 1, MANY]) {
    await submit(step);
    want += step;
    const what = () => `${want} jobs, not ${count()}`;
    await eventually(() => count() === want, { what, timeoutMs: 30_000 });
  }
}

const start = (program: string, ...args: string[]): Running =>
  site.startProgram(args, { program, env: { no_proxy: "*" } });

test("curl --compressed shows each event before the next one happens", async () => {
  const curl = start("curl", "-isSN", "--compressed", `${site.http}/v1/watch`);
  await curl.prints(/event: sync/);
  expect(curl.output.toLowerCase()).toContain("content-encoding: gzip");
  await seesEachStep(() => curl.output.split("\nevent: job\n").length - 1);
  await curl.end("SIGTERM");
});

test("curl without it gets the events uncompressed", async () => {
  const curl = start("curl", "-isSN", `${site.http}/v1/watch`);
  await curl.prints(/event: sync/);
  expect(curl.output.toLowerCase()).not.toContain("content-encoding");
  await submit(MANY);
  const count = () => curl.output.split("\nevent: job\n").length - 1;
  await eventually(() => count() === MANY, { what: "all events", timeoutMs: 30_000 });
  await curl.end("SIGTERM");
});

/** The last test with this server: it stops. */
test("Python's zlib and grpcio read it to its end", async () => {
  const sse = start(python, script("sse.py"), `${site.http}/v1/watch`);
  const request = toBinary(WatchRequestSchema, create(WatchRequestSchema, { batches: true }));
  const grpc = start(
    python,
    script("grpc_watch.py"),
    site.server,
    Buffer.from(request).toString("hex"),
  );
  await sse.prints(/^ENCODING gzip\nsync/);
  await grpc.prints(/MESSAGE/);
  const messages = (): WatchEvent[] =>
    [...grpc.output.matchAll(/^MESSAGE (\w+)\n/gm)].map(([, hex = ""]) =>
      fromBinary(WatchEventSchema, Buffer.from(hex, "hex")),
    );
  const events = (): WatchEvent[] =>
    messages().flatMap((each) => (each.event.case === "batch" ? each.event.value.events : [each]));
  const jobs = () => events().filter(({ event }) => event.case === "job").length;
  await seesEachStep(() => Math.min(jobs(), [...sse.output.matchAll(/^job .*\n/gm)].length));
  expect(messages().length).toBeLessThan(MANY / 10);
  server.child.kill("SIGTERM");
  await sse.prints(/^closed .*unavailable.*\nCOMPLETE/m);
  await grpc.prints(/^ENDED UNAVAILABLE/m);
});
