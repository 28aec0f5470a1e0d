import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { PowerSchema } from "../../../../../gen/busbar/v1/busbar_pb.ts";
import type { EdgeBelow } from "../power-of-site.ts";

/** An edge of the Busbar below, of so many watts. */
export const anEdge = (
  watts: number,
  power: MessageInitShape<typeof PowerSchema> = {},
  state = "connected",
): EdgeBelow => ({
  state,
  capacity: {},
  power: create(PowerSchema, { watts: BigInt(watts), shares: 0, sharesMax: 1, ...power }),
});
