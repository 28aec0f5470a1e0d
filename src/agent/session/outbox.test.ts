import { expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { limits } from "../../limits.ts";
import type { RunId } from "../../ports/executor.ts";
import { Outbox, type Outgoing } from "./outbox.ts";

const run = (jobId: number): RunId => ({ jobId, index: 0, attempt: 1 });
const end = { kind: "exited", exitCode: 0 } as const;
const ended = (jobId: number, began?: RunId): Outgoing => ({
  id: run(jobId),
  report: { kind: "ended", startedAtMs: 0, endedAtMs: 1, end },
  began,
});

function anOutbox() {
  const clock = new FakeClock();
  const sent: number[][] = [];
  const outbox = new Outbox({
    clock,
    send: (_seq, events) => void sent.push(events.map(({ id }) => id.jobId)),
    onAcknowledged: () => undefined,
  });
  return { clock, sent, outbox };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("an end that frees a slot goes at once", async () => {
  const { outbox, sent } = anOutbox();
  outbox.push("1", ended(1));
  await turn();
  expect(sent).toEqual([[1]]);
});

test("ends whose slots went to held runs wait for each other", async () => {
  const { clock, outbox, sent } = anOutbox();
  outbox.push("1", ended(1, run(9)));
  await turn();
  outbox.push("2", ended(2, run(10)));
  await turn();
  expect(sent).toEqual([]);
  clock.advance(limits.reportOfReplacedMs);
  expect(sent).toEqual([[1, 2]]);
  outbox.acknowledge(1);
  outbox.push("3", ended(3, run(11)));
  await turn();
  expect(sent).toEqual([[1, 2]]);
});

test("an end that frees a slot takes waiting ends along", async () => {
  const { outbox, sent } = anOutbox();
  outbox.push("1", ended(1, run(9)));
  outbox.push("2", ended(2));
  await turn();
  expect(sent).toEqual([[1, 2]]);
});

test("an acknowledgement does not send waiting ends early", async () => {
  const { clock, outbox, sent } = anOutbox();
  outbox.push("1", ended(1));
  await turn();
  outbox.push("2", ended(2, run(9)));
  outbox.acknowledge(1);
  await turn();
  expect(sent).toEqual([[1]]);
  clock.advance(limits.reportOfReplacedMs);
  expect(sent).toEqual([[1], [2]]);
});
