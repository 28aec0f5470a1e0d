import type { Power, PowerChange } from "../../core/model/node/power.ts";
import type { ScheduleSpec } from "../../core/model/node/schedule-spec.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { PowerSchedule } from "../executors/edge/power-schedule.ts";

/** Number of future changes that the agent sends: enough to foresee the end of a share. */
const TOLD_CHANGES = 16;

/** This node's power for shares, by a schedule that begins with the agent. */
export class OwnPower {
  readonly #schedule: PowerSchedule;
  readonly #clock: Clock;
  readonly #startMs: number;
  #cancel: () => void = () => undefined;

  constructor(spec: ScheduleSpec, clock: Clock) {
    this.#schedule = new PowerSchedule(spec, 0);
    this.#clock = clock;
    this.#startMs = clock.nowMs();
  }

  now(): Power {
    const nowMs = this.#clock.nowMs() - this.#startMs;
    const changes: PowerChange[] = [];
    for (let next = this.#schedule.nextChange(nowMs); next !== undefined;) {
      changes.push({ atMs: this.#startMs + next.fromMs, watts: next.watts });
      if (changes.length >= TOLD_CHANGES) break;
      next = this.#schedule.nextChange(next.fromMs);
    }
    const watts = this.#schedule.wattsAt(nowMs);
    return changes.length === 0 ? { watts } : { watts, changes };
  }

  /** Calls back at each change, until it is closed. */
  follow(onChange: () => void): void {
    const nowMs = this.#clock.nowMs() - this.#startMs;
    const next = this.#schedule.nextChange(nowMs);
    if (next === undefined) return;
    this.#cancel = this.#clock.after(Math.min(next.fromMs - nowMs, limits.timerMsMax), () => {
      onChange();
      this.follow(onChange);
    });
  }

  close(): void {
    this.#cancel();
  }
}
