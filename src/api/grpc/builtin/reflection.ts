import { type DescService, create } from "@bufbuild/protobuf";
import * as v1 from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { BidiReceiver } from "../calls/bidi.ts";
import { defineService, type GrpcService } from "../service.ts";
import { GRPC } from "../../../lib/grpc/status-codes.ts";
import { ReflectedFiles } from "./reflected-files.ts";

type Question = v1.ServerReflectionRequest["messageRequest"] | V1AlphaQuestion;
type V1AlphaQuestion = v1alpha.ServerReflectionRequest["messageRequest"];

/** Both versions have the same messages, under different names. */
type Answer =
  | {
      readonly case: "fileDescriptorResponse";
      readonly value: { fileDescriptorProto: Uint8Array[] };
    }
  | {
      readonly case: "allExtensionNumbersResponse";
      readonly value: { baseTypeName: string; extensionNumber: number[] };
    }
  | {
      readonly case: "listServicesResponse";
      readonly value: { service: { name: string }[] };
    }
  | {
      readonly case: "errorResponse";
      readonly value: { errorCode: number; errorMessage: string };
    };

/** Describes the services of a listener to tools like grpcurl. */
export function reflectionServices(
  served: readonly DescService[],
  logger: Logger,
): readonly GrpcService[] {
  const files = new ReflectedFiles(served);
  const names = served.map(({ typeName }) => typeName).toSorted();
  const answer = (question: Question): Answer => answerTo(question, files, names);
  return [
    defineService(
      v1.ServerReflection,
      {
        serverReflectionInfo: (peer) =>
          oneByOne((request: v1.ServerReflectionRequest) =>
            peer.send(
              create(v1.ServerReflectionResponseSchema, {
                validHost: request.host,
                originalRequest: request,
                messageResponse: answer(request.messageRequest),
              }),
            ),
          ),
      },
      { logger },
    ),
    defineService(
      v1alpha.ServerReflection,
      {
        serverReflectionInfo: (peer) =>
          oneByOne((request: v1alpha.ServerReflectionRequest) =>
            peer.send(
              create(v1alpha.ServerReflectionResponseSchema, {
                validHost: request.host,
                originalRequest: request,
                messageResponse: answer(request.messageRequest),
              }),
            ),
          ),
      },
      { logger },
    ),
  ];
}

/** Other work has its turn between two requests: an answer may be many times larger than its request. */
const oneByOne = <Request extends { readonly host: string; readonly messageRequest: Question }>(
  answer: (request: Request) => void,
): BidiReceiver<Request> => ({
  message(request) {
    checkLength(request);
    answer(request);
    return new Promise((resolve) => setImmediate(resolve));
  },
  closed: () => undefined,
});

/** The answer repeats the request. */
function checkLength({
  host,
  messageRequest: { value = "" },
}: {
  readonly host: string;
  readonly messageRequest: Question;
}): void {
  const text = typeof value === "string" ? value : value.containingType;
  const { reflectionNameCharsMax: max } = limits;
  if (text.length > max) throw invalid("message_request", `a name has at most ${max} characters`);
  if (host.length > max) throw invalid("host", `has at most ${max} characters`);
}

function answerTo(question: Question, files: ReflectedFiles, names: readonly string[]): Answer {
  switch (question.case) {
    case "listServices":
      return {
        case: "listServicesResponse",
        value: { service: names.map((name) => ({ name })) },
      };
    case "fileByFilename":
      return fileAnswer(files, files.named(question.value), `no file ${question.value}`);
    case "fileContainingSymbol":
      return fileAnswer(files, files.declaring(question.value), `no symbol ${question.value}`);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      return missing(`no extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType":
      // Our files are proto3, which has none.
      if (files.declaring(question.value) === undefined)
        return missing(`no type ${question.value}`);
      return {
        case: "allExtensionNumbersResponse",
        value: { baseTypeName: question.value, extensionNumber: [] },
      };
    case undefined:
      return failed(GRPC.INVALID_ARGUMENT, "the request names nothing to look for");
  }
}

const fileAnswer = (
  files: ReflectedFiles,
  file: ReturnType<ReflectedFiles["named"]>,
  otherwise: string,
): Answer =>
  file === undefined
    ? missing(otherwise)
    : {
        case: "fileDescriptorResponse",
        value: { fileDescriptorProto: files.encoded(file) },
      };

const missing = (what: string): Answer => failed(GRPC.NOT_FOUND, `this port has ${what}`);

const failed = (errorCode: number, errorMessage: string): Answer => ({
  case: "errorResponse",
  value: { errorCode, errorMessage },
});
