import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { AgentMessageSchema, ServerMessageSchema } from "../../gen/busbar/v1/agent_pb.ts";
import type { LinkEvents } from "./link.ts";
import { Servers } from "./servers.ts";
import { settle } from "../../testing/fake-clock.ts";

/** Names and the result of connecting to them: those that are up welcome the agent. */
function aWorld(
  servers: readonly string[],
  names: Readonly<Record<string, readonly string[]>> = {},
) {
  const dialled: string[] = [];
  const sent: string[] = [];
  const up = new Set<string>();
  const links: LinkEvents[] = [];
  const list = new Servers(servers, {
    lookUp: async (host) => names[host] ?? Promise.reject(new Error("ENOTFOUND")),
    dial: (address) => (events) => {
      dialled.push(address);
      links.push(events);
      queueMicrotask(() => {
        const message = { case: "welcome", value: {} } as const;
        if (up.has(address)) events.onMessage(create(ServerMessageSchema, { message }));
        else events.onClose("refused");
      });
      return { send: () => void sent.push(address), close: () => undefined };
    },
  });
  /** One session: whether it was welcomed, or why it ended. */
  const dial = async (): Promise<string> => {
    let outcome = "nothing";
    const link = list.connect({
      onMessage: () => (outcome = "welcome"),
      onClose: (reason) => (outcome = reason),
    });
    link.send(create(AgentMessageSchema, {}));
    await settle();
    return outcome;
  };
  return { list, dialled, sent, up, dial };
}

test("tries each address in turn, in the given order, until one answers", async () => {
  const { dial, up, dialled, sent, list } = aWorld(["a:1", "b:1", "c:1"]);
  up.add("c:1");
  expect([await dial(), await dial(), await dial()]).toEqual([
    "a:1: refused",
    "b:1: refused",
    "welcome",
  ]);
  expect(dialled).toEqual(["a:1", "b:1", "c:1"]);
  expect(sent).toEqual(dialled); // Hello waits until the address is known
  expect(list.total).toBe(3);
});

test("after a lost session it tries the same address first, then the others once each", async () => {
  const { dial, up, dialled } = aWorld(["a:1", "b:1", "c:1"]);
  up.add("b:1");
  await dial();
  await dial();
  up.clear();
  dialled.length = 0;
  for (let count = 0; count < 6; count++) await dial();
  expect(dialled).toEqual(["b:1", "a:1", "c:1", "a:1", "b:1", "c:1"]);
});

test("a name with several addresses counts as all of them, resolved again in each round", async () => {
  const names: Record<string, readonly string[]> = { control: ["10.0.0.1", "fd00::2"] };
  const { dial, dialled } = aWorld(["control:7", "spare:7"], names);
  for (let count = 0; count < 3; count++) await dial();
  expect(dialled).toEqual(["10.0.0.1:7", "[fd00::2]:7", "spare:7"]);
  names["control"] = ["10.0.0.9"]; // it moved: a name with one address is used as it is
  dialled.length = 0;
  for (let count = 0; count < 2; count++) await dial();
  expect(dialled).toEqual(["control:7", "spare:7"]);
});

test("never connects for a session that is closed before its address is known", async () => {
  const { list, dialled } = aWorld(["a:1"]);
  list.connect({ onMessage: () => undefined, onClose: () => undefined }).close();
  await settle();
  expect(dialled).toEqual([]);
});
