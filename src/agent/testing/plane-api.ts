import { create } from "@bufbuild/protobuf";

import * as wire from "../../api/native/grpc/translate-clusters.ts";
import {
  AddSubsystemRequestSchema,
  RegisterClusterRequestSchema,
  SetClusterStateRequestSchema,
} from "../../gen/busbar/v1/cluster_pb.ts";
import { AppError } from "../../lib/errors.ts";
import type { Operations } from "../../server/operations/operations.ts";
import type { ClusterApi } from "../cluster/register.ts";

/** The API of a real control plane without a network, and a list of the changes made through it. */
export class PlaneApi {
  /** "register", "update", "add os", "remove os", "state nodes_free=1". */
  readonly changes: string[] = [];
  /** Every call fails while it is set. */
  isAway = false;
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  get api(): ClusterApi {
    const operations = this.#operations;
    const call = async <T>(change: string | undefined, act: () => Promise<T>): Promise<T> => {
      if (this.isAway) throw new AppError("unavailable", "the server is away");
      const answer = await act();
      if (change !== undefined) this.changes.push(change);
      return answer;
    };
    return {
      getCluster: ({ name = "" }) =>
        call(undefined, async () => wire.toCluster(await operations.getCluster(name))),
      getClusterGraph: ({ name = "" }) =>
        call(undefined, async () => wire.toDocument(await operations.getClusterGraph(name))),
      getSubsystem: ({ cluster = "", name = "" }) =>
        call(undefined, async () =>
          wire.toDocument(await operations.getSubsystem({ cluster, name })),
        ),
      registerCluster: (request) =>
        call(request.update === true ? "update" : "register", async () => {
          const input = wire.fromRegisterCluster(create(RegisterClusterRequestSchema, request));
          return wire.toCluster((await operations.registerCluster(input)).cluster);
        }),
      addSubsystem: (request) =>
        call(`add ${request.name}`, async () => {
          const input = wire.fromAddSubsystem(create(AddSubsystemRequestSchema, request));
          return wire.toCluster(await operations.addSubsystem(input));
        }),
      removeSubsystem: ({ cluster = "", name = "" }) =>
        call(`remove ${name}`, async () =>
          wire.toSubsystemRemoved(await operations.removeSubsystem({ cluster, name })),
        ),
      setClusterState: (request) => {
        const input = wire.fromSetState(create(SetClusterStateRequestSchema, request));
        const told = Object.entries(input.values).map(([key, value]) => `${key}=${String(value)}`);
        return call(["state", ...told.sort()].join(" "), async () =>
          wire.toCluster(await operations.setClusterState(input)),
        );
      },
    };
  }
}
