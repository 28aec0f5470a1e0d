import type { Client } from "@grpc/grpc-js";
import { afterAll } from "vitest";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createGrpcServer } from "../../grpc/server.ts";
import { connect } from "../../grpc/testing/grpc-client.ts";
import { busbarService } from "../grpc/service.ts";
import { createHttpServer } from "../http/http-server.ts";
import type { createFakeOperations } from "./fake-operations.ts";
import { type Http, httpClient } from "./http-client.ts";

/** Serves the operations over gRPC and REST until the tests of the file have ended; returns a client of each. */
export async function serveNativeDoors(
  operations: ReturnType<typeof createFakeOperations>,
  clientOptions: Record<string, number | string> = {},
): Promise<{ readonly client: Client; readonly http: Http }> {
  const address = "127.0.0.1:0";
  const services = [busbarService(operations, silentLogger)];
  const grpc = await createGrpcServer({ address, services, logger: silentLogger });
  const options = { operations, logger: silentLogger, version: "1.2.3" };
  const rest = await createHttpServer({ ...options, address });
  const client = connect(grpc.address, clientOptions);
  afterAll(async () => {
    client.close();
    await Promise.all([grpc.close(), rest.close()]);
  });
  return { client, http: httpClient(rest.address) };
}
