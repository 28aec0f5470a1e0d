import { expect, test } from "vitest";
import { LOCAL } from "../../core/access/principal.ts";
import { jobId, nodeId } from "../../core/model/ids.ts";
import { limits } from "../../limits.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { PackedSpecs } from "../work/packed-specs.ts";
import { AgentSession } from "./agent-session.ts";

const RUN = { jobId: jobId(1), index: 0, attempt: 1 };

test("an agent that neither begins nor gives back a held run owes it, until it does", () => {
  const clock = new FakeClock();
  const peer = { principal: LOCAL, send: () => undefined, close: () => undefined };
  const session = new AgentSession(
    1,
    { nodeId: nodeId("a"), clusterAgent: undefined },
    { peer, clock, parts: undefined, packedSpecs: new PackedSpecs() },
  );
  const late = clock.nowMs() + limits.takeBackMsMax + 1;
  expect(session.owesReturns(late)).toBe(false);
  session.takeBack(RUN);
  expect([session.owesReturns(late - 1), session.owesReturns(late)]).toEqual([false, true]);
  session.runEnded(RUN); // it gave the run back
  expect(session.owesReturns(late)).toBe(false);
  session.takeBack(RUN);
  session.taskChanged(RUN, { kind: "running", nodeId: nodeId("a") } as never, undefined); // it began
  expect(session.owesReturns(late)).toBe(false);
});
