import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ResourceStatus,
  WorkerStatusSchema,
  type WorkloadRequestKind,
} from "../../gen/rik/v1/common_pb.ts";
import { WorkloadSchedulingSchema } from "../../gen/rik/v1/controller_pb.ts";
import { InstanceSchedulingSchema } from "../../gen/rik/v1/worker_pb.ts";
import { messagesOf } from "../../lib/grpc/frames.ts";
import { POD } from "./testing/rik-bed.ts";
import { SchedulingReader } from "./read-scheduling.ts";
import { instanceFrame, orderFrame } from "./wire.ts";

const text = fc.oneof(
  fc.string({ maxLength: 300 }),
  fc.string({ unit: "grapheme", maxLength: 100 }),
  fc.constant("x".repeat(20_000)),
);

const status = fc.nat(6).map((number) => number as ResourceStatus);
const orders = fc.nat(1).map((number) => number as WorkloadRequestKind);
const kind = fc.constantFrom(0, 1, 9, -1).map((number) => number as WorkloadRequestKind);

test("frames of instances and orders equal those of the generated code", () => {
  fc.assert(
    fc.property(text, text, status, orders, (id, other, told, action) => {
      const [frame, ...more] = messagesOf(instanceFrame(id, told, other));
      const value = { instanceId: id, status: told, metrics: other };
      const wanted = { identifier: "scheduler", status: { case: "instance", value } } as const;
      expect(more).toEqual([]);
      expect(frame).toEqual(
        Buffer.from(toBinary(WorkerStatusSchema, create(WorkerStatusSchema, wanted))),
      );
      const [order] = messagesOf(orderFrame(id, other, action));
      expect(order && fromBinary(InstanceSchedulingSchema, order)).toEqual(
        create(InstanceSchedulingSchema, { instanceId: id, definition: other, action }),
      );
    }),
  );
});

test("requests decode as with the generated code, whatever came before", () => {
  const reader = new SchedulingReader();
  fc.assert(
    fc.property(text, text, text, kind, (workloadId, definition, instanceId, action) => {
      const wanted = { workloadId, definition, instanceId, action };
      const bytes = toBinary(WorkloadSchedulingSchema, create(WorkloadSchedulingSchema, wanted));
      expect(reader.read(bytes)).toMatchObject(wanted);
    }),
  );
});

test("requests with unknown fields are decoded, and invalid ones are rejected", () => {
  const reader = new SchedulingReader();
  const bytes = toBinary(
    WorkloadSchedulingSchema,
    create(WorkloadSchedulingSchema, { instanceId: "a", definition: POD }),
  );
  const unknown = Buffer.concat([bytes, Buffer.from([0x7a, 1, 0x41])]);
  expect(reader.read(unknown)).toMatchObject({ instanceId: "a", definition: POD });
  for (const broken of [bytes.subarray(0, -1), Buffer.from([0xff, 0xff])]) {
    expect(() => reader.read(broken)).toThrow("is not a");
  }
});
