import type { FollowedEvent } from "../../../server/watch/watch-format.ts";
import type { RikAccess, RikOperations } from "../operations.ts";

/** Between a control plane and rik's door: answers may come before the events of what they say, and here they do. */
export class EventGate {
  #held: (() => void)[] | undefined;

  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const deliver of held) deliver();
  }

  /** The same operations, whose events stop at this gate. */
  before(access: RikAccess): RikAccess {
    const follow =
      (own: RikOperations): RikOperations["follow"] =>
      (hear: (event: FollowedEvent) => void) =>
        own.follow((event) => {
          if (this.#held === undefined) hear(event);
          else this.#held.push(() => hear(event));
        });
    return {
      as: (principal) => {
        const own = access.as(principal);
        return { ...own, follow: follow(own) };
      },
    };
  }
}
