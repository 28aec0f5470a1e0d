import { membersOf } from "../../proc.ts";

/**
 * The processes of a run are those of its session: the wrapper leads it, and only a process that
 * calls setsid leaves it. Programs like timeout(1) make process groups of their own within it, so
 * signalling the wrapper's group alone would miss them.
 */
export interface Sessions {
  /** Sends `signal` to everyone in each session; those in the wrapper's own group get it at once. */
  signal(sessions: Iterable<number>, signal: "SIGTERM" | "SIGKILL"): void;
  /** Those of `sessions`, whose wrappers are gone, in which someone still runs. */
  inhabited(sessions: Iterable<number>): ReadonlySet<number>;
  /** Kills whoever is left in these sessions, whose wrappers are gone. */
  killOrphans(sessions: Iterable<number>): void;
}

export const linuxSessions: Sessions = {
  signal(sessions, signal) {
    const all = new Set(sessions);
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
 * with the number of a wrapper that is gone means that the session is a stranger's.
 */
function orphansOf(sessions: Iterable<number>): ReturnType<typeof membersOf> {
  const found = membersOf(new Set(sessions));
  for (const [session, members] of found) {
    if (members.some(({ pid }) => pid === session)) found.delete(session);
  }
  return found;
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // Gone already, or not ours to signal: the next look tells.
  }
}
