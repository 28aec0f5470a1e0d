import { expect, test } from "vitest";
import type { WatchEvent } from "../../client/messages.ts";
import { AppError } from "../../lib/errors.ts";
import { followEvents } from "./follow.ts";
import type { Session } from "../session.ts";

const event = (kind: "sync" | "removed", revision: bigint, id = ""): WatchEvent =>
  ({ revision, event: { case: kind, value: { id } } }) as unknown as WatchEvent;

const LOG = [2n, 3n, 4n, 7n, 8n, 9n, 10n, 11n, 12n].map((revision) =>
  event("removed", revision, String(revision)),
);

/** A server whose watches are cut off after so many events, one after another. */
function aSession(cutsAfter: number[]) {
  const asked: bigint[] = [];
  async function* watch({ afterRevision }: { afterRevision: bigint }) {
    asked.push(afterRevision);
    if (asked.length > 10) throw new Error("it asks again and again");
    const cutAfter = cutsAfter.shift();
    const rest = LOG.filter(({ revision }) => revision > afterRevision);
    yield* [event("sync", afterRevision), ...rest].slice(0, cutAfter);
    if (cutAfter !== undefined) throw new AppError("exhausted", "cut off, with no revision");
  }
  const session = {
    client: () => Promise.resolve({ watch }),
    context: { sleep: () => Promise.resolve(), nowMs: () => 0 },
    note: () => Promise.resolve(),
  };
  return { session: session as unknown as Session, asked };
}

test("a watch that is cut off resumes exactly after the last event", async () => {
  const { session, asked } = aSession([3, 2, 6, 1]);
  const { signal } = new AbortController();
  const seen: unknown[] = [];
  for await (const followed of followEvents(session, { afterRevision: 1n }, { signal })) {
    if (followed.event.case !== "removed") continue;
    seen.push(followed.event.value.id);
    if (seen.length === LOG.length) break;
  }
  expect(seen).toEqual(LOG.map(({ revision }) => String(revision)));
  expect(asked).toEqual([1n, 3n, 4n, 11n, 11n]);
});
