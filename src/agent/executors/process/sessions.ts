import type { ProcessIdentity } from "../../proc.ts";
import { identityOf, membersOf } from "../../proc.ts";

/**
 * The processes of a run are those of its session, named by who leads it, and only a process that
 * calls setsid leaves it. Programs like timeout(1) make process groups of their own within it, so
 * signalling the leader's group alone would miss them.
 */
export interface Sessions {
  /** Sends `signal` to everyone in each session; those in the leader's own group get it at once. */
  signal(sessions: readonly ProcessIdentity[], signal: "SIGTERM" | "SIGKILL"): void;
  /** The pids of those leaders whose sessions still have processes. Their wrappers have ended. */
  inhabited(sessions: readonly ProcessIdentity[]): ReadonlySet<number>;
  /** Kills all processes that are left in these sessions, whose wrappers have ended. */
  killOrphans(sessions: readonly ProcessIdentity[]): void;
}

export const linuxSessions: Sessions = {
  signal(sessions, signal) {
    const all = new Set(sessions.map(({ pid }) => pid));
    for (const session of all) send(-session, signal);
    for (const [session, members] of membersOf(all)) {
      for (const { pid, group } of members) if (group !== session) send(pid, signal);
    }
  },
  inhabited(sessions) {
    return new Set(orphansOf(sessions).keys());
  },
  killOrphans(sessions) {
    for (const members of orphansOf(sessions).values()) {
      for (const { pid } of members) send(pid, "SIGKILL");
    }
  },
};

/**
 * The kernel does not give a number away while a session of that number has members. So a process
 * with the number of the leader that is not the leader means that the session is a stranger's.
 */
function orphansOf(sessions: readonly ProcessIdentity[]): ReturnType<typeof membersOf> {
  const leaders = new Map(sessions.map((leader) => [leader.pid, leader.startTicks]));
  const found = membersOf(new Set(leaders.keys()));
  for (const [session, members] of found) {
    if (!members.some(({ pid }) => pid === session)) continue;
    if (identityOf(session)?.startTicks !== leaders.get(session)) found.delete(session);
  }
  return found;
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // It has ended already, or this user may not signal it: the next poll shows which.
  }
}
