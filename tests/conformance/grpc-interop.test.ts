import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pathOf } from "../../src/api/grpc/testing/grpc-client.ts";
import { Agents } from "../../src/gen/busbar/v1/agent_pb.ts";
import {
  Busbar,
  StatsSchema,
  SubmitJobsResponseSchema,
  type WatchEvent,
  WatchEventSchema,
} from "../../src/gen/busbar/v1/busbar_pb.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Serving,
  HealthCheckResponseSchema,
} from "../../src/gen/grpc/health/v1/health_pb.ts";
import {
  ServerReflection,
  ServerReflectionResponseSchema,
} from "../../src/gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../src/gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { limits } from "../../src/limits.ts";
import { type Running, Site } from "../support/busbar.ts";
import { eventually } from "../../src/testing/eventually.ts";
import { FrameCounter } from "./support/frame-counter.ts";
import { InteropClient, LANGUAGES, type Task } from "./support/grpc-interop.ts";

// Clients in other languages, each with the library that most programs of that language use, against
// a real server. The same cases for all.

const MANY = 2_000;
const KINDS = { unary: "unary", server_streaming: "server", bidi_streaming: "bidi" } as const;

interface Method<Input extends DescMessage> {
  readonly name: string;
  readonly methodKind: keyof typeof KINDS;
  readonly parent: { readonly typeName: string };
  readonly input: Input;
}

const task = <Input extends DescMessage>(
  method: Method<Input>,
  requests: readonly MessageInitShape<Input>[] = [{} as MessageInitShape<Input>],
  more: Partial<Task> = {},
): Task => ({
  kind: KINDS[method.methodKind],
  path: pathOf(method),
  messages: requests.map((each) => toBinary(method.input, create(method.input, each))),
  ...more,
});

const getStats = (more: Partial<Task> = {}): Task => task(Busbar.method.getStats, [{}], more);
const jobs = (count: number) =>
  Array.from({ length: count }, () => ({ spec: { command: ["/bin/true"] } }));
const submit = (count: number, more: Partial<Task> = {}): Task =>
  task(Busbar.method.submitJobs, [{ jobs: jobs(count) }], more);
const watch = (more: Partial<Task> = {}): Task =>
  task(Busbar.method.watch, [{ batches: true }], more);

/** The beginning of an unknown field of so many bytes: `zeros` are its value. */
function unknownField(bytes: number): Uint8Array {
  const varint: number[] = [];
  for (let left = bytes; ; left >>>= 7) {
    if (left < 128) return Uint8Array.from([0xfa, 0x7f, ...varint, left]);
    varint.push((left & 127) | 128);
  }
}

const padded = (bytes: number): Partial<Task> => {
  const head = unknownField(bytes);
  return { messages: [head], zeros: bytes };
};

/** The number of jobs in the messages of a watch with batches. */
function jobsIn(messages: readonly Buffer[]): number {
  const events = messages
    .map((bytes): WatchEvent => fromBinary(WatchEventSchema, bytes))
    .flatMap((each) => (each.event.case === "batch" ? each.event.value.events : [each]));
  return events.filter(({ event }) => event.case === "job").length;
}

for (const language of LANGUAGES) {
  const { library, missing } = language;
  const name = missing === undefined ? library : `${library} (skipped: ${missing})`;
  describe.skipIf(missing !== undefined)(name, () => {
    let site: Site;
    let server: Running;
    let command: readonly [string, ...string[]];
    let link: FrameCounter;
    let client: InteropClient;
    beforeAll(async () => {
      command = await language.command();
      site = new Site();
      server = await site.startServer();
      link = await FrameCounter.start(site.server);
      client = new InteropClient(command, { address: link.address });
    }, 600_000);
    afterAll(async () => {
      await client.close();
      await link.close();
      await site.close();
      expect(client.complaints).toBe("");
    });

    const openWatches = async (): Promise<number> =>
      Number((await site.client.getStats({})).watches);
    const noWatches = () =>
      eventually(async () => (await openWatches()) === 0, { what: "no watch to be open" });

    test("gets one answer to one request, with binary metadata beside it", async () => {
      const metadata = { "x-trace-bin": "00ff0d0a80", "x-text": "plain, with a comma" };
      const { code, text, messages } = await client.call(getStats({ metadata }));
      expect([code, text]).toEqual([status.OK, expect.stringMatching(/^(OK)?$/)]);
      expect(messages.map((bytes) => fromBinary(StatsSchema, bytes).store)).toEqual(["sqlite"]);
    });

    test("reads codes, texts beyond ASCII and trailers of errors", async () => {
      const none = await client.call(task(Busbar.method.getJob, [{ id: "999999" }]));
      expect(none).toMatchObject({
        code: status.NOT_FOUND,
        trailers: { "busbar-code": "not_found" },
        messages: [],
      });
      const wrong = { spec: { command: ["/bin/true"], group: "köln %25" } };
      const refused = await client.call(task(Busbar.method.submitJobs, [{ jobs: [wrong] }]));
      expect(refused).toMatchObject({
        code: status.INVALID_ARGUMENT,
        text: expect.stringContaining("köln %25") as string,
        trailers: { "busbar-code": "invalid_argument", "busbar-field": "jobs[0].group" },
      });
      const unknown = await client.call({ ...getStats(), path: "/busbar.v1.Busbar/Nothing" });
      expect(unknown.code).toBe(status.UNIMPLEMENTED);
      const broken = await client.call({ ...getStats(), messages: [Buffer.from("ff", "hex")] });
      expect(broken.code).toBe(status.INVALID_ARGUMENT);
    });

    test("reads a stream as it arrives, and cancels it", async () => {
      const call = client.begin(watch({ cancelAfter: 2 }));
      await call.answered(1);
      expect(await openWatches()).toBe(1);
      const { code, messages } = await client.call(submit(1));
      expect(code).toBe(status.OK);
      expect(fromBinary(SubmitJobsResponseSchema, messages[0] ?? Buffer.alloc(0)).jobs.length).toBe(
        1,
      );
      expect((await call.ended()).code).toBe(status.CANCELLED);
      expect(jobsIn(call.messages)).toBe(1);
      await noWatches();
    });

    test("a stream ends at its deadline, at both ends", async () => {
      const call = client.begin(watch({ timeoutMs: 3_000 }));
      expect((await call.ended()).code).toBe(status.DEADLINE_EXCEEDED);
      expect(call.messages.length).toBeGreaterThan(0);
      await noWatches();
    });

    test("sends and receives on one stream", async () => {
      const { serverReflectionInfo } = ServerReflection.method;
      const symbols = ["busbar.v1.Busbar", "no.Symbol", "grpc.health.v1.Health"];
      const requests = symbols.map((value) => ({
        messageRequest: { case: "fileContainingSymbol" as const, value },
      }));
      const { code, messages } = await client.call(task(serverReflectionInfo, requests));
      expect(code).toBe(status.OK);
      const answers = messages.map((bytes) => fromBinary(ServerReflectionResponseSchema, bytes));
      expect(answers.map(({ messageResponse }) => messageResponse.case)).toEqual([
        "fileDescriptorResponse",
        "errorResponse",
        "fileDescriptorResponse",
      ]);
    });

    test("compresses requests with gzip, small and large", async () => {
      const { code, messages } = await client.call(submit(1, { gzip: true }));
      expect(code).toBe(status.OK);
      expect(messages).toHaveLength(1);
      const before = link.bytesUp;
      const large = await client.call(getStats({ ...padded(3_000_000), gzip: true }));
      expect(large.code).toBe(status.OK);
      expect(link.bytesUp - before).toBeLessThan(300_000);
      const bomb = { ...padded(limits.messageBytesMax), gzip: true };
      expect((await client.call(getStats(bomb))).code).toBe(status.RESOURCE_EXHAUSTED);
    });

    /** Another program with its own connection. */
    async function withOwn(
      settings: object,
      run: (own: InteropClient, ownLink: FrameCounter) => Promise<void>,
    ): Promise<void> {
      const ownLink = await FrameCounter.start(site.server);
      const own = new InteropClient(command, { address: ownLink.address, ...settings });
      try {
        await run(own, ownLink);
      } finally {
        await own.close();
        await ownLink.close();
      }
    }

    test("reads answers compressed with gzip", () =>
      withOwn({}, async (own, ownLink) => {
        const call = own.begin(watch());
        await call.answered(1);
        expect((await client.call(submit(MANY))).code).toBe(status.OK);
        await eventually(() => jobsIn(call.messages) >= MANY, { what: "all jobs" });
        const bytes = call.messages.reduce((sum, each) => sum + each.length, 0);
        expect(ownLink.bytesDown).toBeLessThan(bytes / 2);
      }));

    test("messages at the limit pass, larger ones are RESOURCE_EXHAUSTED and do not affect other calls", async () => {
      const most = limits.messageBytesMax - unknownField(limits.messageBytesMax).length;
      expect((await client.call(getStats(padded(most)))).code).toBe(status.OK);
      for (const bytes of [most + 1, 4 * limits.messageBytesMax]) {
        const { code } = await client.call(getStats(padded(bytes)));
        expect(code).toBe(status.RESOURCE_EXHAUSTED);
      }
      expect((await client.call(getStats())).code).toBe(status.OK);
    });

    test("has many streams and calls on one connection", async () => {
      const watches = Array.from({ length: 200 }, () => client.begin(watch({ cancelAfter: 1 })));
      const calls = await Promise.all(Array.from({ length: 200 }, () => client.call(getStats())));
      expect(new Set(calls.map(({ code }) => code))).toEqual(new Set([status.OK]));
      const ends = await Promise.all(watches.map((call) => call.ended()));
      expect(new Set(ends.map(({ code }) => code))).toEqual(new Set([status.CANCELLED]));
      expect(link.connections).toBe(1);
    });

    test("its pings are answered, however often, without a GOAWAY", () =>
      withOwn({ keepaliveMs: language.keepaliveMs }, async (own, ownLink) => {
        const call = own.begin(watch());
        await call.answered(1);
        const before = ownLink.pingsAnswered;
        const what = (): string => `answered pings, not ${ownLink.pingsAnswered - before}`;
        const isAnswered = () => ownLink.pingsAnswered >= before + 2;
        await eventually(isAnswered, { what, timeoutMs: 60_000 });
        expect((await own.call(getStats())).code).toBe(status.OK);
        expect(call.end).toBeUndefined();
        expect([ownLink.connections, ownLink.goAways]).toEqual([1, 0]);
      }));

    test.skipIf(!language.hasStubs)("its own stubs understand health and reflection", async () => {
      expect(await client.ask("health")).toEqual(["SERVING"]);
      const served = [Agents, Busbar, Health, ServerReflection, ServerReflectionAlpha];
      const methods = served.flatMap(({ typeName, methods: all }) =>
        all.map((method) => `${typeName}.${method.name}`),
      );
      expect((await client.ask("services")).toSorted()).toEqual(methods.toSorted());
    });

    /** The last test with this server. */
    test("notices a stop, and finds the next server", async () => {
      await noWatches();
      const call = client.begin(watch());
      const health = client.begin(task(Health.method.watch));
      await Promise.all([call.answered(1), health.answered(1)]);
      expect(link.goAways).toBe(0);
      expect(await server.end("SIGTERM")).toBe(0);
      expect(await call.ended()).toMatchObject({
        code: status.UNAVAILABLE,
        text: expect.stringContaining("the server is stopping; try again soon") as string,
        trailers: { "busbar-revision": expect.stringMatching(/^\d+$/) as string },
      });
      expect((await health.ended()).code).toBe(status.UNAVAILABLE);
      const statuses = health.messages.map((each) => fromBinary(HealthCheckResponseSchema, each));
      expect(statuses.map((each) => each.status)).toEqual([Serving.SERVING, Serving.NOT_SERVING]);
      expect(link.goAways).toBeGreaterThan(0);
      server = await site.startServer();
      const isBack = async () => (await client.call(getStats())).messages.length === 1;
      await eventually(isBack, { what: "a new connection", timeoutMs: 60_000 });
    });
  });
}
