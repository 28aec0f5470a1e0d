import { eventually } from "../../../testing/eventually.ts";
import { create } from "@bufbuild/protobuf";
import type { Client, StatusObject } from "@grpc/grpc-js";
import {
  type MgmtReq,
  Scheduler,
  WorkerRspSchema,
} from "../../../gen/goschedule/v1/scheduler_pb.ts";
import { call, openBidi } from "../../grpc/testing/grpc-client.ts";

/** A worker's end of the wire. It answers nothing by itself. */
export function openWorker(client: Client) {
  const stream = openBidi(client, Scheduler.method.workerConnect);
  const asked: MgmtReq[] = [];
  const ended = Promise.withResolvers<StatusObject>();
  let isOver = false;
  stream.on("data", (request: MgmtReq) => asked.push(request));
  stream.on("error", () => undefined);
  stream.on("status", (status) => {
    isOver = true;
    ended.resolve(status);
  });
  const say = (id: string, reply: string): void =>
    void stream.write(create(WorkerRspSchema, { id, reply }));
  return {
    asked,
    /** How its stream ended. */
    ended: ended.promise,
    isOver: () => isOver,
    say,
    /** The last request, once that many have arrived. */
    async request(count: number): Promise<MgmtReq> {
      await eventually(() => asked.length >= count, { what: `request ${count}` });
      const request = asked[count - 1];
      if (request === undefined) throw new Error(`no request ${count}`);
      return request;
    },
    /** Reports the end of a command as workers do. */
    tell: (task: { id: string; workerId: string; stdout?: string; stderr?: string }) =>
      call(client, Scheduler.method.setTaskState, { ...task, state: "done" }),
    leave: () => stream.end(),
    cut: () => stream.cancel(),
  };
}
