import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { MemoryGraph } from "../../gen/rainbow/v1/memory_pb.ts";
import { callRaw, failure, pathOf } from "../grpc/testing/grpc-client.ts";
import { bytesOf } from "./testing/wire.ts";
import { scheduler, useRainbowBed } from "./testing/rainbow-bed.ts";

const bed = useRainbowBed();
const METHODS = [
  scheduler.register,
  scheduler.submitJob,
  scheduler.receiveJobs,
  scheduler.acceptJobs,
  scheduler.delete,
  MemoryGraph.method.satisfy,
];
const CUT = Buffer.from([0x0a, 0xff]); // a text of more bytes than there are

test.each(METHODS.map((method) => [method.name, method] as const))(
  "%s: a request that is no protobuf is INTERNAL, as gRPC libraries answer it, and others UNKNOWN",
  async (_, method) => {
    const send = (bytes: Uint8Array) => failure(callRaw(bed.client, pathOf(method), bytes));
    expect((await send(CUT)).code).toBe(status.INTERNAL);
    expect((await send(bytesOf([1, Buffer.from([0xff])]))).code).toBe(status.INTERNAL);
    expect((await send(bytesOf([1, "blue"]))).code).toBe(status.UNKNOWN);
  },
);
