import { amountsOf, graphRequest } from "../../graph/request/graph-request.ts";
import type { Resources } from "../../model/resources.ts";
import type { Request } from "../request.ts";

type Asked = Pick<Request, "needs" | "request">;

/**
 * The reported free capacity of a cluster after it accepts the task; undefined: the task does not
 * fit. Resources that the cluster does not report are not checked.
 */
export function takeFrom(room: Resources, asked: Asked): Resources | undefined {
  for (const amounts of amountsAsked(asked)) {
    const left = lessOf(room, amounts);
    if (left !== undefined) return left;
  }
  return undefined;
}

/** The amounts that one task requests, nodes included, for each alternative. */
function amountsAsked({ needs, request }: Asked): readonly Resources[] {
  if (request === undefined) return [needs];
  return graphRequest(request).compiled.alternatives.map((alternative) => {
    const { amounts, nodes } = amountsOf(alternative);
    return nodes === 0 ? amounts : { ...amounts, nodes };
  });
}

function lessOf(room: Resources, amounts: Resources): Resources | undefined {
  const left: Record<string, number> = { ...room };
  for (const name in amounts) {
    const has = left[name];
    if (has === undefined) continue;
    const rest = has - (amounts[name] ?? 0);
    if (rest < 0) return undefined;
    left[name] = rest;
  }
  return left;
}
