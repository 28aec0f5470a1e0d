import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import {
  MemoryGraph,
  ResponseSchema,
  SatisfyResponseSchema,
} from "../../gen/rainbow/v1/memory_pb.ts";
import * as memory from "../../gen/rainbow/v1/memory_pb.ts";
import * as wire from "../../gen/rainbow/v1/rainbow_pb.ts";
import { ANONYMOUS } from "../../core/access/principal.ts";
import type { Logger } from "../../ports/logger.ts";
import type { CallContext } from "../grpc/calls/call-context.ts";
import { BytesMethod } from "../grpc/calls/bytes-method.ts";
import { undecodable } from "../grpc/calls/codec.ts";
import { defineService, type GrpcService } from "../grpc/service.ts";
import type { Traffic } from "../grpc/traffic.ts";
import { message } from "../grpc/calls/wire-message.ts";
import * as clusters from "./clusters.ts";
import { decodeRegister, decodeSubmit } from "./wire/decode.ts";
import { encodeReceived, encodeRegistered, encodeSubmitted } from "./wire/encode.ts";
import { JobNumbers } from "./wire/job-numbers.ts";
import { createJobspecReader, type ReadText } from "./jobspecs/jobspecs.ts";
import { asAnybody, type RainbowAccess } from "./operations.ts";
import { accept, receive, type Receiving } from "./receive.ts";
import { satisfy, type ShownClusters } from "./satisfy.ts";
import { SatisfyAnswers } from "./wire/satisfy-answers.ts";
import { SatisfyRequests } from "./wire/satisfy-requests.ts";
import { ShownJobs } from "./shown-jobs.ts";
import { toStatus } from "./status.ts";
import { submit } from "./submit.ts";
import { TokenLists } from "./wire/token-lists.ts";

export interface RainbowOptions extends RainbowAccess {
  readonly logger: Logger;
  readonly traffic?: Traffic | undefined;
  /** From 0 up to, not including, 1; different for each start. */
  readonly fraction: number;
  /** How long jobs that one receiver has received are hidden from others; undefined: not at all. */
  readonly visibilityMs?: number | undefined;
  /** The clock for that time; absent: this process's clock. */
  readonly nowMs?: () => number;
}

/** Both services of rainbow, for clients of every generation. */
export function rainbowServices(options: RainbowOptions): readonly GrpcService[] {
  const read = createJobspecReader((text) => asAnybody(options).readJobspec(text));
  return [schedulerService(options, read), memoryGraphService(options, read)];
}

function schedulerService(options: RainbowOptions, read: ReadText): GrpcService {
  const { logger, traffic } = options;
  const lists = new TokenLists();
  const { visibilityMs, nowMs = () => performance.now() } = options;
  const shown = visibilityMs === undefined ? undefined : new ShownJobs(visibilityMs, nowMs);
  const numbers = new JobNumbers(options.fraction);
  const receiving: Receiving = { access: options, read, numbers, shown };
  return defineService(
    wire.RainbowScheduler,
    {
      register: new BytesMethod(wire.RegisterResponseSchema, async (bytes, call) => {
        const request = decodeRegister(bytes);
        return encodeRegistered(await clusters.register(options, request, call), request.form);
      }),
      registerSubsystem: new BytesMethod(wire.RegisterResponseSchema, async (bytes) => {
        const request = decodeRegister(bytes);
        return encodeRegistered(await clusters.registerSubsystem(options, request), "newest");
      }),
      delete: async ({ name, secret }) => {
        await clusters.deleteCluster(options, { cluster: name, secret });
        return message(wire.DeleteResponseSchema, { status: DELETED });
      },
      deleteSubsystem: async ({ name, secret, subsytem }) => {
        const which = { cluster: name, secret, subsystem: subsytem };
        await clusters.deleteSubsystem(options, which);
        return message(wire.DeleteResponseSchema, { status: DELETED });
      },
      submitJob: new BytesMethod(wire.SubmitJobResponseSchema, async (bytes) => {
        const request = decodeSubmit(bytes);
        const form = request.kind === "command" ? "first" : request.form;
        return encodeSubmitted(await submit(options, request, { read, lists }), form);
      }),
      updateState: async (request) => {
        await clusters.updateState(options, request);
        const status = wire.UpdateStateResponse_ResultType.UPDATE_STATE_SUCCESS;
        return message(wire.UpdateStateResponseSchema, { status });
      },
      receiveJobs: receiveMethod(receiving),
      requestJobs: receiveMethod(receiving),
      acceptJobs: async ({ cluster, secret, jobids }) => {
        const isAll = await accept(receiving, { cluster, secret, jobs: jobids });
        const { SUCCESS, PARTIAL } = wire.AcceptJobsResponse_ResultType;
        const status = isAll ? SUCCESS : PARTIAL;
        return message(wire.AcceptJobsResponseSchema, { status });
      },
      serial: async (request) => processed(request, 0),
      stream: (peer) => {
        let count = 0;
        return {
          message: (request) => peer.send(processed(request, ++count)),
          closed: () => undefined,
        };
      },
    },
    {
      logger,
      traffic,
      toStatus,
      principal: ANONYMOUS, // whatever the connection shows: credentials are in the messages
      large: { requests: ["register", "registerSubsystem", "submitJob"], answers: [] },
    },
  );
}

const DELETED = wire.DeleteResponse_ResultType.DELETE_SUCCESS;

const receiveMethod = (receiving: Receiving) =>
  new BytesMethod(wire.ReceiveJobsResponseSchema, async (bytes, { peer: receiver }) => {
    const request = decode(wire.ReceiveJobsRequestSchema, bytes);
    const { cluster, secret, maxJobs: jobsMax } = request;
    return encodeReceived(await receive(receiving, { cluster, secret, jobsMax, receiver }));
  });

function decode<Schema extends DescMessage>(
  schema: Schema,
  bytes: Uint8Array,
): MessageShape<Schema> {
  try {
    return fromBinary(schema, bytes);
  } catch (error) {
    throw undecodable(schema, error);
  }
}

const processed = ({ content }: wire.Request, count: number): wire.Response =>
  message(wire.ResponseSchema, {
    requestId: content?.id ?? "",
    messageCount: BigInt(count),
    messagesProcessed: BigInt(count),
    processingDetails: "processed successfully",
  });

function memoryGraphService(options: RainbowOptions, read: ReadText): GrpcService {
  const { logger, traffic } = options;
  const requests = new SatisfyRequests();
  const answers = new SatisfyAnswers();
  return defineService(
    MemoryGraph,
    {
      satisfy: new BytesMethod(SatisfyResponseSchema, async (bytes, context) => {
        const request = requests.decode(bytes);
        return answers.encode(await satisfy(options, request, { read, shown: shownBy(context) }));
      }),
      register: async ({ name, payload }, context) => {
        const secret = shownBy(context)?.credential ?? "";
        await clusters.registerGraph(options, { name, payload, secret });
        const status = memory.Response_ResultType.UNSPECIFIED; // as before
        return message(ResponseSchema, { status });
      },
    },
    {
      logger,
      traffic,
      toStatus,
      principal: ANONYMOUS, // whatever the connection shows: credentials are in the messages
      large: { requests: ["satisfy", "register"], answers: ["satisfy"] },
    },
  );
}

/** `authorization: Bearer TEXT`, and `busbar-clusters: blue,green` if the client names its clusters. */
function shownBy({ headers }: CallContext): ShownClusters | undefined {
  const [, credential] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  if (credential === undefined) return undefined;
  const names = String(headers["busbar-clusters"] ?? "").split(",");
  return { credential, clusters: names.map((name) => name.trim()).filter((name) => name !== "") };
}
