import { afterEach, beforeEach, expect, test } from "vitest";
import type { OpenStream } from "../../../../client/call.ts";
import { type BusbarClient, createClient } from "../../../../client/client.ts";
import type { AttachRequestInit, AttachResponse } from "../../../../client/messages.ts";
import type { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { eventually } from "../../../../testing/eventually.ts";
import { FakeAgent } from "../../../../testing/fake-agent.ts";
import { aPlane, type TestPlane } from "../../../../testing/plane.ts";
import { silentLogger } from "../../../../testing/silent-logger.ts";
import { createGrpcServer, type GrpcServer } from "../../../grpc/server.ts";
import { busbarService } from "../service.ts";

let plane: TestPlane;
let server: GrpcServer;
let client: BusbarClient;
beforeEach(async () => {
  ({ plane } = await aPlane());
  server = await createGrpcServer({
    address: "127.0.0.1:0",
    services: [busbarService(plane.operations, silentLogger)],
    logger: silentLogger,
  });
  client = createClient({ server: server.address });
});
afterEach(async () => {
  client.close();
  await server.close();
  await plane.close();
});

/** A node that supports clients. */
async function aNode(name: string): Promise<FakeAgent> {
  const agent = new FakeAgent(plane);
  agent.hello(name, { canAttach: true, parts: { encodings: [] } });
  await eventually(() => agent.heard.some(({ case: said }) => said === "welcome"), { what: name });
  return agent;
}

/** A running task with a client on that node. */
async function aTask(node: string, attach = "stdin"): Promise<string> {
  const spec = { command: ["cat"], placement: { node }, ...(attach === "" ? {} : { attach }) };
  const { jobs } = await client.submitJobs({ jobs: [{ spec }] });
  const id = jobs[0]?.id ?? expect.fail("it was submitted");
  await eventually(async () => (await client.getTask({ id })).node === node, { what: "a place" });
  return id;
}

/** A caller, with the messages that it received. */
class Caller {
  readonly heard: AttachResponse["message"][] = [];
  end: { readonly error: AppError | undefined } | undefined;
  readonly stream: OpenStream<AttachRequestInit>;

  constructor(taskId?: string) {
    this.stream = client.attach({
      onMessage: ({ message }) => this.heard.push(message),
      onEnd: (error) => (this.end = { error }),
    });
    if (taskId === undefined) return;
    this.stream.send({ message: { case: "open", value: { taskId, outputOffset: 0 } } });
  }

  part(offset: number, text: string, end = false): void {
    const value = { offset, data: Buffer.from(text), end };
    this.stream.send({ message: { case: "part", value } });
  }

  ends(): Promise<{ readonly error: AppError | undefined }> {
    return eventually(() => this.end, { what: "the end of the call" });
  }
}

/** The messages about clients that the agent received. */
const toldOf = (agent: FakeAgent) =>
  agent.heard.flatMap((message) => (message.case === "attachment" ? [message.value] : []));

const say = (agent: FakeAgent, number: number, message: object): void =>
  agent.say({ case: "attachment", value: { number, message: message as never } });

test("a caller's bytes reach the agent of its task, and the agent's reach the caller", async () => {
  const agent = await aNode("w1");
  const id = await aTask("w1");
  const caller = new Caller(id);
  const [start] = await eventually(() => (toldOf(agent).length > 0 ? toldOf(agent) : undefined), {
    what: "the start",
  });
  expect(start?.message).toMatchObject({ case: "start", value: { id: { job: Number(id) } } });
  const number = start?.number ?? 0;
  say(agent, number, { case: "started", value: { inputOffset: 0 } });
  await eventually(() => caller.heard.length === 1, { what: "started" });
  caller.part(0, "abc", true);
  await eventually(() => toldOf(agent).length === 2, { what: "the part" });
  expect(toldOf(agent)[1]?.message).toMatchObject({
    value: { data: Buffer.from("abc"), end: true },
  });
  say(agent, number, { case: "seen", value: 3 });
  say(agent, number, { case: "part", value: { offset: 0, data: Buffer.from("out") } });
  say(agent, number, { case: "over", value: {} });
  expect(await caller.ends()).toEqual({ error: undefined });
  expect(caller.heard.map((one) => one.case)).toEqual(["started", "seen", "part"]);
});

test("the agent is notified when a caller leaves; a caller whose agent is lost gets unavailable", async () => {
  const agent = await aNode("w1");
  const id = await aTask("w1");
  const first = new Caller(id);
  await eventually(() => toldOf(agent).length === 1, { what: "the start" });
  first.stream.cancel();
  await eventually(() => toldOf(agent).at(-1)?.message.case === "over", { what: "its end" });
  const second = new Caller(id);
  await eventually(() => toldOf(agent).at(-1)?.message.case === "start", { what: "the start" });
  agent.hangUp();
  expect((await second.ends()).error?.code).toBe("unavailable");
  const third = new Caller(id);
  expect((await third.ends()).error).toMatchObject({ code: "unavailable" });
});

test("an invalid request is rejected, with the field", async () => {
  const agent = await aNode("w1");
  const plain = await aTask("w1", "");
  const id = await aTask("w1");
  const refusalOf = async (caller: Caller): Promise<string> => {
    const { error } = await caller.ends();
    return `${error?.code}: ${error?.message}`;
  };
  expect(await refusalOf(new Caller(plain))).toContain("conflict: task 1 takes no client");
  expect(await refusalOf(new Caller("99"))).toContain("not_found");
  const early = new Caller();
  early.part(0, "x");
  expect(await refusalOf(early)).toBe("invalid_argument: message: the first must be open");
  const twice = new Caller(id);
  twice.stream.send({ message: { case: "open", value: { taskId: id } } });
  expect(await refusalOf(twice)).toBe("invalid_argument: open: comes once, first");
  const flooding = new Caller(id);
  await eventually(
    () => toldOf(agent).filter(({ message }) => message.case === "start").length === 2,
    { what: "the start" },
  );
  say(agent, toldOf(agent).at(-1)?.number ?? 0, { case: "started", value: { inputOffset: 0 } });
  await eventually(() => flooding.heard.length === 1, { what: "started" });
  const data = "x".repeat(limits.attachPartBytesMax);
  for (let at = 0; at <= limits.attachWindowBytes; at += data.length) flooding.part(at, data);
  expect(await refusalOf(flooding)).toContain("bytes are unacknowledged: wait for seen");
});

test("a server has a bounded number of callers; one that leaves frees a place", async () => {
  const perAgent = limits.attachStreamsPerAgentMax;
  const callers: Caller[] = [];
  const names = Array.from({ length: limits.attachStreamsMax / perAgent }, (_, at) => `w${at}`);
  for (const name of names) {
    const agent = await aNode(name);
    const id = await aTask(name);
    for (let count = 0; count < perAgent; count++) callers.push(new Caller(id));
    await eventually(() => toldOf(agent).length === perAgent, { what: "all starts" });
    if (callers.length > perAgent) continue;
    expect((await new Caller(id).ends()).error).toMatchObject({
      code: "exhausted",
      message: expect.stringContaining("node w0"),
    });
  }
  const spare = await aNode("spare");
  const id = await aTask("spare");
  const { error } = await new Caller(id).ends();
  expect(error).toMatchObject({
    code: "exhausted",
    message: expect.stringContaining("limit of"),
  });
  callers[0]?.stream.cancel();
  await eventually(
    async () => {
      const again = new Caller(id);
      await eventually(() => again.end ?? (toldOf(spare).length > 0 || undefined), {
        what: "word",
      });
      return toldOf(spare).length > 0;
    },
    { what: "room for another" },
  );
});

test("explain says whether the client of an interactive job is attached, and what the job waits for", async () => {
  const summary = async (id: string): Promise<string> => (await client.explainJob({ id })).summary;
  const agent = await aNode("w1");
  const id = await aTask("w1");
  const alone = await client.explainJob({ id });
  expect(alone.summary).toMatch(/no client is attached.* 1m /);
  expect(alone.hints).toEqual([expect.stringContaining(`busbar cancel ${id}`)]);
  const caller = new Caller(id);
  await eventually(() => toldOf(agent).length === 1, { what: "the agent to be asked" });
  expect(await summary(id)).toContain("its client is attached");
  caller.stream.cancel();
  await eventually(async () => (await summary(id)).includes("no client"), {
    what: "it to be gone",
  });
  const spec = { command: ["sh"], attach: "terminal", resources: { cpu: 1e6 }, hangUpMs: 5_000n };
  const { jobs } = await client.submitJobs({ jobs: [{ spec }], allowUnsatisfiable: true });
  const pending = jobs[0]?.id ?? expect.fail("it was submitted");
  expect(await summary(pending)).toMatch(/1 task waits: .*a terminal within 5s of its start/);
  await client.cancelJob({ id: pending });
  expect(await summary(pending)).not.toContain("terminal");
});
