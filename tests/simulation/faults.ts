import type { AgentHost } from "./agent-host.ts";
import type { Clients } from "./clients.ts";
import type { Disk } from "./disk.ts";
import type { Network } from "./network.ts";
import type { Seeded } from "./random.ts";
import type { Server } from "./server.ts";
import type { Timeline } from "./timeline.ts";
import type { Watcher } from "./watcher.ts";

export interface FaultTargets {
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly server: Server;
  readonly disk: Disk;
  readonly network: Network;
  readonly hosts: readonly AgentHost[];
  readonly clients: Clients;
  readonly watchers: readonly Watcher[];
}

type Fault = (targets: FaultTargets) => void;

const downMs = (random: Seeded): number =>
  random.chance(0.7) ? random.int(1, 5_000) : random.int(5_000, 90_000);

const restart = ({ timeline, server, random }: FaultTargets): void =>
  void timeline.after(random.chance(0.9) ? random.int(2, 4_000) : random.int(4_000, 50_000), () =>
    server.start(),
  );

function slowDown({ timeline, random, disk }: FaultTargets, ms: number): void {
  disk.slownessMs = random.int(50, 1_500);
  timeline.after(ms, () => (disk.slownessMs = 4));
}

function reboot(
  { timeline, random, hosts }: FaultTargets,
  how: "orderly" | "power-loss",
  host = random.pick(hosts),
): void {
  if (how === "orderly" && random.chance(0.5)) host.stop();
  host.kill();
  host.machine.reboot(how);
  timeline.after(downMs(random), () => host.start());
}

/** All possible faults. A run draws some of these, and how often. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  serverCrash: (targets) => {
    targets.server.crash();
    restart(targets);
  },
  serverStop: (targets) => {
    void targets.server.stop().then(() => restart(targets));
  },
  flushFails: ({ server }) => {
    if (server.isUp) server.failNextFlush();
  },
  slowDisk: (targets) => slowDown(targets, targets.random.int(1_000, 15_000)),
  // Lists are made and changes join while a batch waits for the previous one.
  crowdAtSlowDisk: (targets) => {
    const { timeline, random, clients, watchers } = targets;
    slowDown(targets, 6_000);
    for (let count = 0; count < 6; count++) {
      timeline.after(random.int(0, 5_000), () => clients.act());
      timeline.after(random.int(0, 5_000), () => random.pick(watchers).interrupt());
    }
  },
  streamBreaks: ({ network, random, hosts }) => network.breakStreams(random.pick(hosts).name),
  streamStalls: ({ network, random, hosts }) =>
    network.stall(random.pick(hosts).name, random.int(500, 45_000)),
  cutOffShortly: ({ network, random, hosts }) =>
    network.cutOff(random.pick(hosts).name, random.int(100, 15_000)),
  cutOffLong: ({ network, random, hosts }) =>
    network.cutOff(random.pick(hosts).name, random.int(25_000, 120_000)),
  helloComesLate: ({ network, random, hosts }) =>
    network.delayNextDial(random.pick(hosts).name, random.int(11_000, 40_000)),
  // Its stream is over before it is durable, and the newer stream lives.
  helloComesLateToSlowDisk: (targets) => {
    const { timeline, network, random, hosts } = targets;
    const lateMs = random.int(11_000, 40_000);
    network.delayNextDial(random.pick(hosts).name, lateMs);
    timeline.after(lateMs - 1_000, () => slowDown(targets, 5_000));
  },
  agentKilled: ({ timeline, random, hosts }) => {
    const host = random.pick(hosts);
    host.kill();
    timeline.after(downMs(random), () => host.start());
  },
  agentStopped: ({ timeline, random, hosts }) => {
    const host = random.pick(hosts);
    host.stop();
    timeline.after(downMs(random), () => host.start());
  },
  machineRestarts: (targets) => reboot(targets, "orderly"),
  powerFails: (targets) => reboot(targets, "power-loss"),
  // At the worst moment: between a start and its report, between a batch and its answers.
  powerFailsAtStart: (targets) => {
    const { timeline, random, hosts } = targets;
    const host = random.pick(hosts);
    host.machine.onNextStart = () =>
      void timeline.after(random.int(0, 10), () => reboot(targets, "power-loss", host));
  },
  agentKilledAtStart: ({ timeline, random, hosts }) => {
    const host = random.pick(hosts);
    host.machine.onNextStart = () =>
      void timeline.after(random.int(0, 10), () => {
        host.kill();
        timeline.after(downMs(random), () => host.start());
      });
  },
  streamBreaksAtStart: ({ timeline, random, hosts, network }) => {
    const host = random.pick(hosts);
    host.machine.onNextStart = () =>
      void timeline.after(random.int(0, 10), () => network.breakStreams(host.name));
  },
  serverCrashesInFlush: (targets) => {
    const { timeline, random, server, disk } = targets;
    disk.onNextFlush = () =>
      void timeline.after(random.int(0, 8), () => {
        server.crash();
        restart(targets);
      });
  },
  reportsRepeat: ({ network, random, hosts }) => network.repeatReports(random.pick(hosts).name),
  machineFallsSick: ({ timeline, random, hosts }) => {
    const { machine } = random.pick(hosts);
    machine.isSick = true;
    timeline.after(random.int(100, 60_000), () => (machine.isSick = false));
  },
  machineBreaks: ({ timeline, random, hosts }) => {
    const { machine } = random.pick(hosts);
    machine.isBroken = true;
    timeline.after(random.int(5_000, 90_000), () => (machine.isBroken = false));
  },
  watchBreaks: ({ random, watchers }) => random.pick(watchers).interrupt(),
  // The newer stream has held tasks, and its report of those that began is under way.
  helloComesLateToHeldTasks: ({ timeline, network, random, hosts, clients }) => {
    const { name } = random.pick(hosts);
    const lateMs = random.int(11_000, 15_000);
    network.delayNextDial(name, lateMs);
    for (let count = 0; count < 3; count++) {
      timeline.after(lateMs - random.int(0, 3_000), () => clients.act());
    }
    timeline.after(lateMs - random.int(20, 500), () => network.stallNewest(name, 2_000));
  },
};
