import { fromBinary } from "@bufbuild/protobuf";
import { SatisfyRequestSchema } from "../../../gen/rainbow/v1/memory_pb.ts";
import { RecentMap } from "../../../lib/collections/recent-map.ts";
import { limits } from "../../../limits.ts";
import { undecodable } from "../../grpc/calls/codec.ts";

interface SatisfyQuestion {
  readonly payload: string;
  readonly matcher: string;
}

/** SatisfyRequests, decoded once while clients repeat the same bytes: they ask before each of many jobs. */
export class SatisfyRequests {
  readonly #known = new RecentMap<string, SatisfyQuestion>(limits.knownSatisfyRequestsMax);

  decode(bytes: Buffer): SatisfyQuestion {
    if (bytes.length > limits.knownSatisfyBytesMax) return decode(bytes);
    const key = bytes.toString("latin1"); // a character for each byte
    let request = this.#known.get(key);
    if (request === undefined) {
      request = decode(bytes);
      this.#known.set(key, request);
    }
    return request;
  }
}

function decode(bytes: Buffer): SatisfyQuestion {
  try {
    const { payload, matcher } = fromBinary(SatisfyRequestSchema, bytes);
    return { payload, matcher };
  } catch (error) {
    throw undecodable(SatisfyRequestSchema, error);
  }
}
