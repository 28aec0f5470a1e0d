import { status as grpc } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { ResourceStatus } from "../../gen/rik/v1/common_pb.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { Controller } from "../../gen/rik/v1/controller_pb.ts";
import { call, connect, failure } from "../grpc/testing/grpc-client.ts";
import { likeRiklet, metricsOf, POD, type RikBed, until, useRikBeds } from "./testing/rik-bed.ts";

const open = useRikBeds();
const SECRET = "a-secret-of-the-cluster";
const { RUNNING } = ResourceStatus;

const userOf = (bed: RikBed, role: "worker" | "controller", name: string): string =>
  `${name}:${bed.door.callers.tokenFor(role, name)}@`;

test("workers and controllers send their tokens in their URLs, and jobs have their names", async () => {
  const bed = await open({ secret: SECRET });
  const asEdge = userOf(bed, "worker", "edge");
  const worker = await bed.readyWorker("edge", likeRiklet, metricsOf(4), asEdge);
  const web = await bed.controller({}, userOf(bed, "controller", "web"));
  const ops = await bed.controller({}, `ops:${SECRET}@`);
  await web.schedule("one", JSON.stringify({ ...JSON.parse(POD), extra: "x".repeat(500_000) }));
  await ops.schedule("two");
  await web.until("one", RUNNING);
  await ops.until("two", RUNNING);
  expect([web.of("two"), ops.of("one")]).toEqual([[], []]);
  const { jobs } = await bed.plane.operations.listJobs({}, {});
  const by = new Map(jobs.map(({ spec, submittedBy }) => [spec.name, submittedBy]));
  expect([by.get("one"), by.get("two")]).toEqual(["rik:web", "rik:ops"]);
  const [told] = web.told.filter(({ hostAddress }) => hostAddress !== undefined);
  expect(told?.hostAddress).toMatch(/^127\.0\.0\.1:\d+$/);
  worker.close();
  await until(async () => {
    expect((await bed.plane.operations.getNode("rik-edge")).state).not.toBe("connected");
  });
});

test("the log says once why a worker is refused, which exits and is started again every 3 s", async () => {
  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (...words: unknown[]) => void warnings.push(words) };
  const bed = await open({ secret: SECRET, logger });
  const asEdge = userOf(bed, "worker", "edge");
  await bed.readyWorker("edge", likeRiklet, metricsOf(4), asEdge);
  for (const user of ["", "", asEdge, asEdge]) {
    const worker = await bed.worker("edge", likeRiklet, user).catch(() => undefined);
    if (user !== "") await until(() => expect(worker?.code).toBe(grpc.ALREADY_EXISTS));
  }
  const said = (reason: RegExp) => [
    {
      worker: "edge",
      address: expect.any(String) as string,
      reason: expect.stringMatching(reason) as string,
    },
    "worker refused",
  ];
  expect(warnings).toEqual([said(/token are missing/), said(/already exist/)]);
});

test.for([
  ["without a user part", () => "", "a name and a token are missing: http://NAME:TOKEN@HOST"],
  ["with a wrong token", () => "edge:wrong@", "the token of edge is wrong"],
  [
    "with the token of another name",
    (bed: RikBed) => userOf(bed, "worker", "edge").replace("edge:", "core:"),
    "the token of core is wrong",
  ],
  [
    "with the token of a controller",
    (bed: RikBed) => userOf(bed, "controller", "edge"),
    "the token of edge is wrong",
  ],
  ["with a name that is none", () => `a/b:${SECRET}@`, "the name must be letters, digits, . _ -"],
] as const)("a worker %s is refused, with the reason", async ([, user, details]) => {
  const bed = await open({ secret: SECRET });
  const worker = await bed.worker("edge", likeRiklet, user(bed));
  await until(() => expect(worker.code).toBe(grpc.UNAUTHENTICATED));
  expect(worker.details).toBe(details);
  await expect(worker.beat()).rejects.toMatchObject({ code: grpc.UNAUTHENTICATED, details });
  expect(bed.door.workers.count).toBe(0);
});

test("a token registers the worker of its name and no other; the secret registers all", async () => {
  const bed = await open({ secret: SECRET });
  const other = await bed.worker("core", likeRiklet, userOf(bed, "worker", "edge"));
  await until(() => expect(other.code).toBe(grpc.PERMISSION_DENIED));
  expect(other.details).toBe(
    "the token of edge registers the worker edge and no other: ask for one of core",
  );
  await bed.readyWorker("core", likeRiklet, metricsOf(4), `edge:${SECRET}@`);
});

test("a controller with a wrong token cannot subscribe or schedule", async () => {
  const bed = await open({ secret: SECRET });
  const client = connect(bed.address, { "grpc.default_authority": `web:wrong@${bed.address}` });
  try {
    const request = { instanceId: "one", definition: POD, workloadId: "w1" };
    expect(await failure(call(client, Controller.method.scheduleInstance, request))).toMatchObject({
      code: grpc.UNAUTHENTICATED,
      details: "the token of web is wrong",
    });
    expect(bed.door.book.count).toBe(0);
  } finally {
    client.close();
  }
});
