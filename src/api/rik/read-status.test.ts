import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  InstanceMetricSchema,
  type ResourceStatus,
  WorkerStatusSchema,
} from "../../gen/rik/v1/common_pb.ts";
import { StatusReader } from "./read-status.ts";

const word = fc.string({ unit: fc.constantFrom("a", "-", "7", "ü"), maxLength: 40 });
const instance = fc.record({
  instanceId: word,
  metrics: word,
  status: fc.integer({ min: -1, max: 200 }),
});

test("statuses of instances are decoded as the general decoder does, or not at all", () => {
  const reader = new StatusReader();
  fc.assert(
    fc.property(word, instance, (identifier, value) => {
      const metric = create(InstanceMetricSchema, {
        ...value,
        status: value.status as ResourceStatus,
      });
      const status = { case: "instance", value: metric } as const;
      const bytes = toBinary(
        WorkerStatusSchema,
        create(WorkerStatusSchema, { identifier, status }),
      );
      const read = reader.read(bytes);
      const isUsual = !/ü/.test(JSON.stringify([identifier, value])) && value.status >= 0;
      expect(read !== undefined).toBe(isUsual && value.status <= 127);
      if (read !== undefined) expect(read).toEqual(fromBinary(WorkerStatusSchema, bytes));
      // Cut anywhere, it is not accepted as another status.
      for (let length = 0; length < bytes.length; length++) {
        const cut = reader.read(bytes.subarray(0, length));
        if (cut === undefined) continue;
        expect(cut).toEqual(fromBinary(WorkerStatusSchema, bytes.subarray(0, length)));
      }
    }),
  );
});

test("statuses of machines, addresses and repeated fields are left to the general decoder", () => {
  const reader = new StatusReader();
  const worker = { case: "worker", value: { status: 2, metrics: "{}" } } as const;
  const own = { case: "instance", value: { status: 2, instanceId: "a" } } as const;
  const encode = (init: Parameters<typeof create<typeof WorkerStatusSchema>>[1]) =>
    toBinary(WorkerStatusSchema, create(WorkerStatusSchema, init));
  expect(reader.read(encode({ identifier: "w", status: worker }))).toBeUndefined();
  expect(reader.read(encode({ identifier: "w" }))).toBeUndefined();
  expect(reader.read(encode({ hostAddress: "1.2.3.4:5", status: own }))).toBeUndefined();
  const twice = Buffer.concat([encode({ status: own }), encode({ status: own })]);
  expect(reader.read(twice)).toBeUndefined();
});
