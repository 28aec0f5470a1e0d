import { expect, test, vi } from "vitest";
import { EndCause } from "../../gen/busbar/v1/agent_pb.ts";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent, type Said } from "../../testing/fake-agent.ts";
import { aPlane } from "../../testing/plane.ts";
import { LOCAL } from "../../core/access/principal.ts";
import { jobId, nodeId } from "../../core/model/ids.ts";
import { limits } from "../../limits.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import { PackedSpecs } from "../work/packed-specs.ts";
import { AgentSession } from "./agent-session.ts";

const RUN = { jobId: jobId(1), index: 0, attempt: 1 };

test("an agent owes a held run until it begins or returns it", () => {
  const clock = new FakeClock();
  const peer = { principal: LOCAL, send: () => undefined, close: () => undefined };
  const session = new AgentSession(
    1,
    { nodeId: nodeId("a"), cluster: "default" },
    { peer, clock, parts: undefined, packedSpecs: new PackedSpecs() },
  );
  const late = clock.nowMs() + limits.takeBackMsMax + 1;
  expect(session.owesReturns(late)).toBe(false);
  session.takeBack(RUN);
  expect([session.owesReturns(late - 1), session.owesReturns(late)]).toEqual([false, true]);
  session.runEnded(RUN); // it returned the run
  expect(session.owesReturns(late)).toBe(false);
  session.takeBack(RUN);
  session.taskChanged(RUN, { kind: "running", nodeId: nodeId("a") } as never, undefined); // it began
  expect(session.owesReturns(late)).toBe(false);
});

/** An agent that acknowledges what it has read when the test says so. */
class HoldingAgent extends FakeAgent {
  #marksRead = 0;
  #seq = 0;

  /** How often it was sent each held run: "6.0#1". */
  get holds(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const message of this.heard) {
      if (message.case !== "work") continue;
      for (const { id } of message.value.holds) {
        const key = `${id?.job}.${id?.index}#${id?.attempt}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    return counts;
  }

  readMarks(): void {
    const marks = this.heard.filter((message) => message.case === "mark");
    for (const { value } of marks.slice(this.#marksRead)) {
      this.#marksRead++;
      this.say({ case: "markSeen", value: { number: value.number } });
    }
  }

  report(...events: NonNullable<(Said & { case: "reports" })["value"]["events"]>): void {
    this.say({ case: "reports", value: { seq: ++this.#seq, events } });
  }
}

const idOf = (job: number) => ({ job, index: 0, attempt: 1 });
const ended = (job: number) => ({
  id: idOf(job),
  event: {
    case: "ended" as const,
    value: { startedAtMs: 5, endedAtMs: 6, cause: EndCause.EXITED },
  },
});
const returned = (job: number, heldAtMs: number) => ({
  id: idOf(job),
  event: { case: "returned" as const, value: { heldAtMs } },
});
const aJob = (script: string) => ({ spec: { script, resources: { cpu: 1 } } });

test("a run that one commit takes back and assigns as held again is sent again", async () => {
  const { plane } = await aPlane();
  const agent = new HoldingAgent(plane);
  agent.hello("w1", { capacity: { cpu: 1_000 }, canHold: true, parts: { encodings: [] } });
  await agent.hears("welcome");
  for (let job = 1; job <= limits.runTimesMin; job++) {
    await plane.operations.submitJobs([aJob("true")]);
    await agent.hears(`start ${job}.0#1`);
    agent.readMarks();
    agent.report(ended(job));
  }
  const first = limits.runTimesMin + 1; // it is started, the others are held
  const long = "#".repeat(limits.specInlineBytesMax - 200);
  await plane.operations.submitJobs(Array.from({ length: 20 }, () => aJob(long)));
  await agent.hears(`start ${first}.0#1`);
  agent.readMarks();
  await eventually(() => agent.holds.size >= 2, { what: "two runs to be held" });
  // From here on the link is full: the agent reads no more marks.
  const [one = "", two = ""] = agent.holds.keys();
  expect(agent.holds.size).toBeLessThan(19);
  const moves: string[][] = [];
  const { sessions } = plane;
  const committed = sessions.committed.bind(sessions);
  vi.spyOn(sessions, "committed").mockImplementation((commit) => {
    const rows = commit.changes.filter((change) => change.table === "task");
    const keys = rows.map(({ row }) => `${row.jobId}.${row.index}`);
    moves.push(rows.map(({ row }, at) => `${keys[at]} ${row.state.kind}`));
    committed(commit);
  });
  const back = (run: string) => {
    const id = Number.parseInt(run, 10);
    const state = plane.state.task({ jobId: jobId(id), index: 0 })?.state;
    return returned(id, state?.kind === "held" ? state.heldAtMs : 0);
  };
  agent.report(ended(first), back(one), back(two));
  await eventually(() => moves.length > 0, { what: "the commit" });
  // One takes the slot of the ended run, the other is held: both keep their attempt numbers.
  const [a, b] = [one, two].map((run) => run.replace("#1", ""));
  expect(moves[0]).toEqual([
    `${first}.0 succeeded`,
    `${a} waiting`,
    `${b} waiting`,
    `${a} assigned`,
    `${b} held`,
  ]);
  await eventually(
    () => {
      agent.readMarks();
      return agent.told.includes(`start ${one}`) && agent.holds.get(two) === 2;
    },
    { what: `the agent to get ${one} and ${two} again` },
  );
  await plane.close();
});
