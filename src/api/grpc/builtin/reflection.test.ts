import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { file_busbar_v1_busbar } from "../../../gen/busbar/v1/busbar_pb.ts";
import * as v1 from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { limits } from "../../../limits.ts";
import { busbarService } from "../../native/grpc/service.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../../native/testing/fake-operations.ts";
import { createGrpcServer } from "../server.ts";
import { connect, openBidi } from "../testing/grpc-client.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Question = NonNullable<
  MessageInitShape<typeof v1.ServerReflectionRequestSchema>["messageRequest"]
>;
type Answer = v1.ServerReflectionResponse;

/** A stream to a server with the native API alone: each request gets its answer. */
async function open(version: typeof v1 | typeof v1alpha) {
  const services = [busbarService(createFakeOperations(), silentLogger)];
  const server = await createGrpcServer({ address: "127.0.0.1:0", services, logger: silentLogger });
  const client = connect(server.address);
  const { serverReflectionInfo } = version.ServerReflection.method;
  const request = version.ServerReflectionRequestSchema as typeof v1.ServerReflectionRequestSchema;
  // Both versions have the same messages under different names.
  const info = openBidi(
    client,
    serverReflectionInfo as typeof v1.ServerReflection.method.serverReflectionInfo,
  );
  closers.push(
    () => server.close(),
    () => client.close(),
    () => info.cancel(),
  );
  info.on("error", () => undefined);
  const ask = (messageRequest: Question, host = "here"): Promise<Answer> =>
    new Promise((resolve, reject) => {
      info.once("data", resolve);
      info.once("error", reject);
      info.write(create(request, { host, messageRequest }));
    });
  return { ask, info };
}

const filesOf = ({ messageResponse }: Answer) => {
  if (messageResponse.case !== "fileDescriptorResponse") throw new Error(messageResponse.case);
  return messageResponse.value.fileDescriptorProto.map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
};

const errorOf = ({ messageResponse }: Answer) => {
  if (messageResponse.case !== "errorResponse") throw new Error(messageResponse.case);
  return [messageResponse.value.errorCode, messageResponse.value.errorMessage];
};

describe.each([
  { name: "v1", version: v1 },
  { name: "v1alpha", version: v1alpha },
])("reflection $name", ({ version }) => {
  test("lists exactly the services of this port, itself and health included", async () => {
    const { ask } = await open(version);
    const answer = await ask({ case: "listServices", value: "*" });
    expect(answer.validHost).toBe("here");
    expect(answer.originalRequest?.messageRequest).toEqual({ case: "listServices", value: "*" });
    const { messageResponse: listed } = answer;
    if (listed.case !== "listServicesResponse") throw new Error(listed.case);
    expect(listed.value.service.map(({ name }) => name)).toEqual([
      "busbar.v1.Busbar",
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
    ]);
  });

  test.each([
    "busbar.v1.Busbar",
    "busbar.v1.Busbar.SubmitJobs",
    "busbar.v1.JobSpec",
    "busbar.v1.JobSpec.command",
  ])("finds the file that declares %s, with those it imports", async (value) => {
    const { ask } = await open(version);
    const files = filesOf(await ask({ case: "fileContainingSymbol", value }));
    expect(files[0]).toEqual(file_busbar_v1_busbar.proto);
    expect(files.map(({ name }) => name)).toEqual([
      "busbar/v1/busbar.proto",
      "busbar/v1/agent.proto",
      "busbar/v1/cluster.proto",
    ]);
  });

  test("finds files by name, and values of enums in the scope around them", async () => {
    const { ask } = await open(version);
    const byName = await ask({ case: "fileByFilename", value: "busbar/v1/agent.proto" });
    expect(filesOf(byName).map(({ name }) => name)).toEqual(["busbar/v1/agent.proto"]);
    const value = "grpc.health.v1.HealthCheckResponse.SERVING";
    const byValue = await ask({ case: "fileContainingSymbol", value });
    expect(filesOf(byValue).map(({ name }) => name)).toEqual(["grpc/health/v1/health.proto"]);
  });

  test("answers NOT_FOUND for unknown names, and continues", async () => {
    const { ask } = await open(version);
    const cases: readonly [Question, string][] = [
      [
        { case: "fileContainingSymbol", value: "busbar.v1.Nothing" },
        "this port has no symbol busbar.v1.Nothing",
      ],
      [
        { case: "fileContainingSymbol", value: "proto.Scheduler" },
        "this port has no symbol proto.Scheduler",
      ],
      [
        { case: "fileByFilename", value: "rainbow/v1/rainbow.proto" },
        "this port has no file rainbow/v1/rainbow.proto",
      ],
      [
        {
          case: "fileContainingExtension",
          value: { containingType: "busbar.v1.Job", extensionNumber: 7 },
        },
        "this port has no extension 7 of busbar.v1.Job",
      ],
      [{ case: "allExtensionNumbersOfType", value: "no.Type" }, "this port has no type no.Type"],
    ];
    for (const [question, text] of cases)
      expect(errorOf(await ask(question))).toEqual([status.NOT_FOUND, text]);
    expect(errorOf(await ask({ case: undefined }))[0]).toBe(status.INVALID_ARGUMENT);
    const numbers = await ask({ case: "allExtensionNumbersOfType", value: "busbar.v1.Job" });
    expect(numbers.messageResponse).toMatchObject({
      case: "allExtensionNumbersResponse",
      value: { baseTypeName: "busbar.v1.Job", extensionNumber: [] },
    });
  });

  test("rejects a name that is too long, because the answer would repeat it", async () => {
    const value = "a".repeat(limits.reflectionNameCharsMax + 1);
    const first = await open(version);
    const error = { code: status.INVALID_ARGUMENT };
    await expect(first.ask({ case: "fileByFilename", value })).rejects.toMatchObject(error);
    const second = await open(version);
    await expect(second.ask({ case: "listServices", value: "" }, value)).rejects.toMatchObject(
      error,
    );
  });
});
