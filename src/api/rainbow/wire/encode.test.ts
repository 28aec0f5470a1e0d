import { fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { encodeReceived, encodeRegistered, encodeSubmitted, REGISTER } from "./encode.ts";
import {
  ReceiveJobsResponse_ResultType,
  ReceiveJobsResponseSchema,
} from "../../../gen/rainbow/v1/rainbow_pb.ts";
import { readAs } from "../testing/wire.ts";

const submitted = { jobId: 7, cluster: "keebler", clusters: [] };
const FIRST = {
  1: ["request_id", "text"],
  2: ["jobid", "varint"],
  3: ["status", "varint"],
} as const;
const NEWEST = {
  1: ["request_id", "text"],
  2: ["jobid", "varint"],
  3: ["cluster", "text"],
  4: ["status", "varint"],
  5: ["clusters", "texts"],
} as const;

test("clients that do not show their version get an answer that all versions can read", () => {
  const bytes = encodeSubmitted(submitted, "any");
  expect(bytes.toString("hex")).toBe("100718011a076b6565626c65722001");
  expect(readAs(FIRST, bytes)).toEqual({ jobid: 7, status: 1, aside: 2 });
  expect(readAs(NEWEST, bytes)).toEqual({ jobid: 7, cluster: "keebler", status: 1, aside: 1 });
});

test("the others get no field that they would have to put aside", () => {
  expect(readAs(FIRST, encodeSubmitted(submitted, "first"))).toEqual({ jobid: 7, status: 1 });
  expect(readAs(NEWEST, encodeSubmitted({ ...submitted, jobId: 300 }, "newest"))).toEqual({
    jobid: 300,
    cluster: "keebler",
    status: 1,
  });
});

test("the answer to a trial has no job, and the clusters in order", () => {
  const bytes = encodeSubmitted({ jobId: 0, cluster: "", clusters: ["b", "a"] }, "newest");
  expect(readAs(NEWEST, bytes)).toEqual({ status: 1, clusters: ["b", "a"] });
});

test("texts have the length of their bytes", () => {
  const clusters = ["ü→\u{1f600}", "x".repeat(300)];
  const bytes = encodeSubmitted({ jobId: 1, cluster: "ä", clusters }, "newest");
  expect(readAs(NEWEST, bytes)).toEqual({ jobid: 1, cluster: "ä", status: 1, clusters });
});

test("the largest number of a job is exact", () => {
  const bytes = encodeSubmitted({ ...submitted, jobId: 2 ** 31 - 1 }, "first");
  expect(readAs(FIRST, bytes)).toEqual({ jobid: 2_147_483_647, status: 1 });
});

const REGISTER_FIRST = { 2: ["token", "text"], 3: ["status", "varint"] } as const;
const REGISTER_LATER = {
  2: ["token", "text"],
  3: ["secret", "text"],
  4: ["status", "varint"],
} as const;

test("a registration can be read by the very first clients, which know no secret, and by later ones", () => {
  const answer = { status: REGISTER.SUCCESS, token: "t", secret: "s" };
  const bytes = encodeRegistered(answer, "any");
  expect(readAs(REGISTER_FIRST, bytes)).toEqual({ token: "t", status: 1, aside: 2 });
  expect(readAs(REGISTER_LATER, bytes)).toEqual({ token: "t", secret: "s", status: 1, aside: 1 });
  expect(readAs(REGISTER_LATER, encodeRegistered(answer, "newest"))).toEqual({
    token: "t",
    secret: "s",
    status: 1,
  });
  const exists = encodeRegistered({ status: REGISTER.EXISTS, token: "", secret: "" }, "any");
  expect(readAs(REGISTER_FIRST, exists)).toEqual({ status: 4, aside: 1 });
  expect(readAs(REGISTER_LATER, exists)).toEqual({ status: 4, aside: 1 });
});

test("received jobs are those of the message, whatever their number and length", () => {
  const jobs = new Map([
    [1, "{}"],
    [300, "ü→\u{1f600}"],
    [2_147_483_647, "x".repeat(20_000)],
    [7, ""],
  ]);
  const {
    jobs: read,
    status,
    requestId,
  } = fromBinary(ReceiveJobsResponseSchema, encodeReceived(jobs));
  expect({ read, status, requestId }).toEqual({
    read: Object.fromEntries(jobs),
    status: ReceiveJobsResponse_ResultType.REQUEST_JOBS_SUCCESS,
    requestId: "",
  });
  expect(encodeReceived(new Map())).toHaveLength(0); // no results, which is 0
});
