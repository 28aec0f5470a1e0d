import { eventually } from "../../../testing/eventually.ts";
import { get as httpGet, type IncomingMessage } from "node:http";
import { constants, createGunzip, gunzipSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import type { ServiceError } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { createClient } from "../../../client/client.ts";
import { Busbar, type WatchEvent, WatchEventSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../limits.ts";
import { aCommit, aJob } from "../../../server/testing/watch-hub.ts";
import { toWatchFilter, toWatchRevision } from "../../../server/watch/watch-filter.ts";
import { WatchHub } from "../../../server/watch/watch-hub.ts";
import { revision } from "../../../core/model/ids.ts";
import { createGrpcServer } from "../../grpc/server.ts";
import { connect, stream } from "../../grpc/testing/grpc-client.ts";
import { createHttpServer } from "../http/http-server.ts";
import { busbarService } from "./service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { openFrames } from "../testing/raw-watch.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const JOBS = 1_000;
const groupOf = (id: number): string => (id % 4 === 0 ? "b" : "a");
const manyJobs = Array.from({ length: JOBS }, (_, at) => aJob(at + 1, groupOf(at + 1)));

/** Both doors of a real hub. */
async function serve(heartbeatMs = 60_000) {
  const hub = new WatchHub(revision(0), {
    source: {
      jobOf: (id) => aJob(id, groupOf(id)),
      revisionOf: () => undefined,
      clusterOf: () => "local",
    },
    soon: setImmediate,
  });
  const formats: string[] = [];
  const operations = createFakeOperations({
    watch(query, to) {
      formats.push(to.format.name);
      const [after, filter] = [toWatchRevision(query.afterRevision), toWatchFilter(query)];
      return hub.open({ after, filter, ...to });
    },
  });
  const address = "127.0.0.1:0";
  const both = { operations, address, logger: silentLogger, version: "1" };
  const http = await createHttpServer({ ...both, heartbeatMs, drainMs: 1_000 });
  const services = [busbarService(operations, silentLogger)];
  const grpc = await createGrpcServer({ address, services, logger: silentLogger });
  closers.push(
    () => http.close(),
    () => grpc.close(),
  );
  return { hub, formats, url: `http://${http.address}`, grpc: grpc.address };
}

const idsOf = (text: string): string[] =>
  [...text.matchAll(/"job":{"id":"(\d+)"/g)].map(([, id]) => id ?? "");
const endOf = (text: string): string => text.slice(text.lastIndexOf("event: closed"));

describe("server-sent events", () => {
  interface Read {
    readonly headers: IncomingMessage["headers"];
    readonly wire: Buffer[];
    plain: string;
    isOver: boolean;
  }

  /** Reads as data arrives; `plain` is the decoded part so far. */
  async function read(url: string, headers: Record<string, string> = {}): Promise<Read> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = httpGet(url, { headers }, resolve).on("error", reject);
      closers.push(() => void request.destroy());
    });
    const got: Read = { headers: response.headers, wire: [], plain: "", isOver: false };
    response.on("data", (chunk: Buffer) => got.wire.push(chunk));
    const decoded =
      response.headers["content-encoding"] === "gzip"
        ? response.pipe(createGunzip({ flush: constants.Z_SYNC_FLUSH }))
        : response;
    decoded.on("data", (chunk: Buffer) => (got.plain += chunk.toString()));
    decoded.on("error", () => undefined);
    decoded.on("end", () => (got.isOver = true));
    return got;
  }
  const gzip = { "accept-encoding": "gzip" };

  const accepted: readonly [header: string | undefined, encoding: string | undefined][] = [
    [undefined, undefined],
    ["gzip, deflate, br", "gzip"],
    ["gzip;q=0", undefined],
    ["gzip;q=0.1, identity", undefined],
    ["br, zstd", undefined],
    ["*", undefined],
  ];
  for (const [header, encoding] of accepted) {
    test(`Accept-Encoding ${header ?? "left out"} is answered with ${encoding ?? "identity"}`, async () => {
      const { url } = await serve();
      const asked = header === undefined ? {} : { "accept-encoding": header };
      const { headers } = await read(`${url}/v1/watch`, asked);
      expect(headers).toMatchObject({ vary: "accept-encoding" });
      expect(headers["content-encoding"]).toBe(encoding);
    });
  }

  test("each event can be decoded before the next one exists", async () => {
    const { hub, url } = await serve();
    const reader = await read(`${url}/v1/watch`, gzip);
    await eventually(() => reader.plain.includes("event: sync"), { what: "the first event" });
    for (let at = 1; at <= 20; at++) {
      hub.publish(aCommit(at, [aJob(at)]));
      await eventually(() => idsOf(reader.plain).length === at, { what: `event ${at}` });
    }
    for (let at = 21; at <= 25; at++) {
      hub.publish(aCommit(at, manyJobs));
      await eventually(() => idsOf(reader.plain).length === 20 + (at - 20) * JOBS, {
        what: `commit ${at}`,
      });
    }
  });

  test("compressed, filtered and plain readers get the same events; the stream ends as gzip requires", async () => {
    const { hub, url } = await serve();
    hub.publish(aCommit(1, manyJobs));
    const paths = ["/v1/watch?after=0", "/v1/watch?after=0&group=b", "/v1/watch?after=0&job=7"];
    const open = (headers: Record<string, string>) =>
      Promise.all(paths.map((path) => read(url + path, headers)));
    const packed = await open(gzip);
    const plain = await open({});
    const counts = [2 * JOBS, JOBS / 2, 2];
    await eventually(() => packed.every(({ plain }) => plain.includes("event: sync")), {
      what: "all are open",
    });
    hub.publish(aCommit(2, manyJobs));
    const late = await read(`${url}/v1/watch?after=1`, gzip);
    const all = [...packed, ...plain];
    await eventually(() => all.every((each, at) => idsOf(each.plain).length === counts[at % 3]), {
      what: "all have all",
    });
    await eventually(() => idsOf(late.plain).length === JOBS, { what: "the late one too" });
    hub.close();
    await eventually(() => [...all, late].every(({ isOver }) => isOver), { what: "all are over" });
    for (const [at, each] of packed.entries()) {
      expect(each.plain).toBe(plain[at]?.plain);
      expect(endOf(each.plain)).toContain('"revision":2');
      // Fails unless length and checksum at the end are right.
      expect(gunzipSync(Buffer.concat(each.wire)).toString()).toBe(each.plain);
    }
    const [whole, some, one] = packed.map(({ wire }) => Buffer.concat(wire).length);
    expect(whole).toBeLessThan((plain[0]?.plain.length ?? 0) / 10);
    expect(some).toBeLessThan((plain[1]?.plain.length ?? 0) / 10);
    expect(one).toBeLessThan((plain[2]?.plain.length ?? 0) + 100); // too small to gain anything
  });

  test("signs of life are part of the stream", async () => {
    const { hub, url } = await serve(20);
    const reader = await read(`${url}/v1/watch`, gzip);
    await eventually(() => reader.plain.split(":\n\n").length > 3, { what: "three signs of life" });
    hub.publish(aCommit(1));
    await eventually(() => idsOf(reader.plain).length === 1, { what: "the event" });
    hub.close();
    await eventually(() => reader.isOver, { what: "it is over" });
    expect(gunzipSync(Buffer.concat(reader.wire)).toString()).toBe(reader.plain);
  });

  test("an event that is too large to be compressed here arrives uncompressed", async () => {
    const { hub, url } = await serve();
    const script = Array.from({ length: 60_000 }, (_, at) => String(at)).join(" ");
    const job = { ...aJob(1), closed: { kind: "cancelled", atMs: 5, by: "me", reason: script } };
    const reader = await read(`${url}/v1/watch`, gzip);
    const commit = aCommit(1);
    const [snapshot] = commit.jobs.values();
    expect(script.length).toBeGreaterThan(limits.watchPackBytesMax);
    hub.publish({ ...commit, jobs: new Map([[job.id, { ...snapshot, job } as never]]) });
    hub.publish(aCommit(2, [aJob(2)]));
    await eventually(() => idsOf(reader.plain).length === 2, { what: "both events" });
    expect(reader.plain).toContain(script);
    expect(Buffer.concat(reader.wire).length).toBeGreaterThan(script.length);
  });

  test("fetch decodes it as it arrives", async () => {
    const { hub, url } = await serve();
    const answer = await fetch(`${url}/v1/watch`); // fetch requests gzip by itself
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    let text = "";
    const reading = (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of answer.body ?? []) text += decoder.decode(chunk, { stream: true });
    })();
    for (let at = 1; at <= 3; at++) {
      hub.publish(aCommit(at, manyJobs));
      await eventually(() => idsOf(text).length === at * JOBS, { what: `commit ${at}` });
    }
    hub.close();
    await reading;
    expect(endOf(text)).toContain('"revision":3');
  });
});

describe("gRPC", () => {
  const revisionsOf = (events: readonly WatchEvent[]): string[] =>
    events.map(({ event, revision }) => `${event.case} ${revision}`);
  const singly = (events: readonly WatchEvent[]): WatchEvent[] =>
    events.flatMap((each) => (each.event.case === "batch" ? each.event.value.events : [each]));

  const readers = [
    { name: "plain", batches: false, accepts: undefined },
    { name: "gzip", batches: false, accepts: "identity,gzip" },
    { name: "batches", batches: true, accepts: undefined },
    { name: "batches and gzip", batches: true, accepts: "gzip" },
    { name: "an encoding that nobody knows", batches: true, accepts: "snappy" },
  ];

  test("all readers get the same events, whether they accept batches, gzip, both or neither", async () => {
    const { hub, grpc } = await serve();
    const open = readers.map(({ batches, accepts }) => openFrames(grpc, { batches }, accepts));
    closers.push(() => open.forEach(({ close }) => close()));
    await eventually(() => open.every(({ frames }) => frames.length === 1), {
      what: "all are open",
    });
    hub.publish(aCommit(1, manyJobs));
    hub.publish(aCommit(2, [aJob(2)]));
    const eventsOf = ({ frames }: (typeof open)[number]): WatchEvent[] =>
      frames.map(({ message }) => fromBinary(WatchEventSchema, message));
    await eventually(() => open.every((each) => singly(eventsOf(each)).length === JOBS + 2), {
      what: "all have all",
    });
    const [plain, gzip, batches, both, unknown] = open;
    const events = open.map(eventsOf);
    for (const each of events) expect(singly(each)).toEqual(events[0]);
    expect(open.map(({ headers }) => headers()["grpc-encoding"])).toEqual([
      undefined,
      "gzip",
      undefined,
      "gzip",
      undefined,
    ]);
    const packed = open.map(({ frames }) => frames.filter(({ isPacked }) => isPacked).length);
    expect(packed.map((count) => count > 0)).toEqual([false, false, false, true, false]);
    // One event is too small for either.
    expect(gzip?.frames).toEqual(plain?.frames);
    expect(both?.frames.at(-1)).toEqual(plain?.frames.at(-1));
    expect(batches?.frames.length).toBeLessThan(JOBS / 64);
    expect(unknown?.frames).toEqual(batches?.frames);
    expect((both?.bytes() ?? 0) * 8).toBeLessThan(plain?.bytes() ?? 0);
    expect(revisionsOf(events[3]?.slice(0, 2) ?? [])).toEqual(["sync 0", "batch 1"]);
  });

  test("one large event is compressed for every client that accepts it", async () => {
    const { hub, grpc } = await serve();
    const open = openFrames(grpc, { batches: false }, "gzip");
    closers.push(() => open.close());
    await eventually(() => open.frames.length === 1, { what: "it is open" });
    const reason = "long ".repeat(2_000);
    const [snapshot] = aCommit(1).jobs.values();
    const job = { ...aJob(1), closed: { kind: "cancelled", atMs: 5, by: "me", reason } };
    hub.publish({ ...aCommit(1), jobs: new Map([[job.id, { ...snapshot, job } as never]]) });
    await eventually(() => open.frames.length === 2, { what: "the event" });
    expect(open.frames[1]).toMatchObject({ isPacked: true });
    expect(open.bytes()).toBeLessThan(reason.length / 4);
  });

  test("grpc-js decodes it, and receives the revision to resume from", async () => {
    const { hub, grpc } = await serve();
    const client = connect(grpc);
    closers.push(() => client.close());
    const call = stream(client, Busbar.method.watch, { batches: true, group: "b" });
    const events: WatchEvent[] = [];
    call.on("data", (event: WatchEvent) => events.push(event));
    const ended = new Promise<ServiceError>((resolve) => call.once("error", resolve));
    await eventually(() => events.length === 1, { what: "it is open" });
    hub.publish(aCommit(1, manyJobs));
    await eventually(() => singly(events).length === 1 + JOBS / 4, { what: "all events" });
    expect(events.length).toBeLessThan(20);
    hub.close();
    expect((await ended).metadata.get("busbar-revision")).toEqual(["1"]);
  });

  test("our own client requests both, and its readers receive events one by one", async () => {
    const { hub, formats, grpc } = await serve();
    const client = createClient({ server: grpc });
    closers.push(() => client.close());
    const seen: string[] = [];
    for await (const { event, revision } of client.watch({})) {
      if (seen.length === 0) hub.publish(aCommit(1, manyJobs));
      seen.push(`${event.case} ${revision}`);
      if (seen.length > JOBS / 2) break;
    }
    expect(new Set(seen)).toEqual(new Set(["sync 0", "job 1"]));
    expect(formats).toEqual(["grpc batches gzip"]);
    await eventually(() => hub.watchers === 0, { what: "leaving the loop ended the watch" });
  });
});
