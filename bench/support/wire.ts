import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import {
  Busbar,
  SubmitJobsRequestSchema,
  SubmitJobsResponseSchema,
} from "../../src/gen/busbar/v1/busbar_pb.ts";
import type { JobSubmissionInit } from "../../src/client/messages.ts";

export const SUBMIT = `/${Busbar.typeName}/${Busbar.method.submitJobs.name}`;
const same = (bytes: Buffer): Buffer => bytes;

/** A request as bytes: made before the clock starts, because the client's work is not measured. */
export function encodeSubmit(jobs: JobSubmissionInit[]): Buffer {
  return Buffer.from(toBinary(SubmitJobsRequestSchema, create(SubmitJobsRequestSchema, { jobs })));
}

/** Single jobs that all differ from each other, from number `first`. */
export function distinctJobs(first: number, count: number): Buffer {
  const job = (_: unknown, at: number): JobSubmissionInit => ({
    spec: { command: ["/bin/true", `--input=part-${first + at}.dat`] },
  });
  return encodeSubmit(Array.from({ length: count }, job));
}

/** The number of jobs in an answer. */
const countSubmitted = (answer: Buffer): number =>
  fromBinary(SubmitJobsResponseSchema, answer).jobs.length;

/** One connection for requests that are bytes already. */
export interface Wire {
  submit(request: Buffer): Promise<Buffer>;
  close(): void;
}

export function openWire(server: string): Wire {
  const client = new Client(server, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1, // otherwise all wires would share one connection
    "grpc.enable_http_proxy": 0,
  });
  return {
    submit: (request) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(SUBMIT, same, same, request, (error, answer) => {
          if (error !== null) reject(error);
          else resolve(answer ?? Buffer.alloc(0));
        });
      }),
    close: () => client.close(),
  };
}

/** Sends all requests, at most `inFlight` at a time; throws when the answers lack jobs. */
export async function submitAll(
  wire: Wire,
  requests: readonly Buffer[],
  { inFlight, jobs }: { readonly inFlight: number; readonly jobs: number },
): Promise<void> {
  checkTaken(await sendAll(wire, requests, inFlight), jobs);
}

/** The same, without reading the answers: that is not measured. */
export async function sendAll(
  wire: Wire,
  requests: readonly Buffer[],
  inFlight: number,
): Promise<readonly Buffer[]> {
  const answers: Buffer[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
      answers.push(await wire.submit(request));
    }
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  return answers;
}

/** Throws unless the answers have as many jobs as were sent. */
export function checkTaken(answers: readonly Buffer[], jobs: number): void {
  const taken = answers.reduce((sum, answer) => sum + countSubmitted(answer), 0);
  if (taken !== jobs) throw new Error(`${jobs} jobs were sent and ${taken} taken`);
}
