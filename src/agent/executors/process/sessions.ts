import type { ProcessIdentity } from "../../proc.ts";
import { identityOf, membersOf } from "../../proc.ts";

/**
 * The processes of a run are those of its session, identified by the session leader; only a process that calls setsid leaves it. Programs
 * like timeout(1) make their own process groups within it, so signalling the leader's group alone would miss them.
 */
export interface Sessions {
  /**
   * Sends `signal` to every process of each session; those in the leader's own group get it at once. After TERM each also gets CONT: a
   * process that SIGSTOP has stopped could not end before its KILL.
   */
  signal(sessions: readonly ProcessIdentity[], signal: "SIGTERM" | "SIGKILL"): void;
  /** The leaders (pids) whose sessions still have processes. Their wrappers have ended. */
  inhabited(sessions: readonly ProcessIdentity[]): ReadonlySet<number>;
  /** Kills all processes that are left in these sessions, whose wrappers have ended. */
  killOrphans(sessions: readonly ProcessIdentity[]): void;
}

export const linuxSessions: Sessions = {
  signal(sessions, signal) {
    const all = new Set(sessions.map(({ pid }) => pid));
    for (const session of all) sendWaking(-session, signal);
    for (const [session, members] of membersOf(all)) {
      for (const { pid, group } of members) if (group !== session) sendWaking(pid, signal);
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
 * The kernel does not reuse a number while a session of that number has members. So a process with the number of the leader that is not the
 * leader means that the session is another one.
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

/** KILL needs no CONT. */
export function sendWaking(target: number, signal: "SIGTERM" | "SIGKILL"): void {
  send(target, signal);
  if (signal === "SIGTERM") send(target, "SIGCONT");
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // The process has ended already, or this user may not signal it: the next poll shows which.
  }
}
