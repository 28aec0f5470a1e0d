import { methods } from "../gen/busbar/v1/tables.ts";
import { decodeMessage } from "../wire/binary/decode-message.ts";
import { encodeMessage } from "../wire/binary/encode-message.ts";
import { messageType } from "../wire/message-types.ts";
import type { ServiceMethod } from "./bind-service.ts";

/** The calls of the native API by the names of their functions. Types of messages are looked up when one is sent. */
export function busbarMethods(): ReadonlyMap<string, ServiceMethod> {
  const all = new Map<string, ServiceMethod>();
  for (const [localName, line] of Object.entries(methods)) {
    const [name = "", kind, input = "", output = ""] = line.split(" ");
    all.set(localName, {
      path: `/busbar.v1.Busbar/${name}`,
      kind: kind as ServiceMethod["kind"],
      encode: (request) => encodeMessage(messageType(input), request),
      decode: (answer) => decodeMessage(messageType(output), answer),
    });
  }
  return all;
}
