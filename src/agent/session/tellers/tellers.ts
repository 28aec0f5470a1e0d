import type { Welcome } from "../../../gen/busbar/v1/agent_pb.ts";
import type { SessionOptions } from "../session-options.ts";
import { toAgentPower, toProgressReports, type toAgentMessage } from "../../translate.ts";
import { PowerTeller } from "./power-teller.ts";
import { ProgressTeller } from "./progress-teller.ts";
import { QueueTeller } from "./queue-teller.ts";
import { RoomTeller } from "./room-teller.ts";

/** The messages of a session besides reports of runs, each sent when its content changes. */
export class Tellers {
  readonly queue: QueueTeller;
  readonly progress: ProgressTeller;
  readonly room: RoomTeller;
  readonly power: PowerTeller;
  readonly #runs: SessionOptions["runs"];

  constructor(
    { clock, executor, facts, runs }: SessionOptions,
    send: (message: Parameters<typeof toAgentMessage>[0]) => void,
    isBusy: () => boolean,
  ) {
    this.#runs = runs;
    this.queue = new QueueTeller(executor, (groups) =>
      send({ case: "queued", value: { groups: [...groups] } }),
    );
    this.progress = new ProgressTeller({
      clock,
      send: (some) => send({ case: "progress", value: toProgressReports(some) }),
    });
    this.room = new RoomTeller({
      clock,
      room: facts.clusterAgent?.room,
      isBusy,
      send: ({ tasks, free, seen }) =>
        send({ case: "take", value: { tasks, free: { ...free }, seen } }),
    });
    this.power = new PowerTeller({
      clock,
      power: facts.power,
      send: (power) => send({ case: "power", value: toAgentPower(power) }),
    });
  }

  welcomed({ wantsQueued, wantsProgress, wantsPower }: Welcome): void {
    this.queue.welcomed(wantsQueued);
    this.progress.welcomed(wantsProgress, this.#runs.progress());
    this.power.welcomed(wantsPower);
  }

  close(): void {
    this.progress.close();
    this.room.close();
    this.power.close();
  }
}
