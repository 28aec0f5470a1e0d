import type { Dice } from "./dice.ts";
import { pause } from "./load.ts";
import type { Part } from "./parts.ts";
import type { World } from "./world.ts";

const DELAY_MS_MAX = 400;
const STARTING_MS_MAX = 700; // a part that was just started is killed again within this time
const ROUNDS_AWAY = 3;

export interface RoundsOptions {
  readonly rounds: number;
  readonly dice: Dice;
  /** Agents may stay down for some rounds, so that their nodes are lost. */
  readonly nodesMayBeLost: boolean;
  /** Every part that does not stay down is up again. */
  readonly onRound: (line: string) => Promise<void>;
  /** What a mutation does to the world after this round. */
  readonly between?: (round: number) => Promise<void>;
}

/** Kills parts of the world and starts them again, round by round. */
export async function runRounds(world: World, options: RoundsOptions): Promise<void> {
  const { dice, nodesMayBeLost, onRound } = options;
  const backInRound = new Map<Part, number>();
  for (let round = 1; round <= options.rounds; round++) {
    await pause(dice.between(0, DELAY_MS_MAX));
    const victims = chooseVictims(world, dice);
    const isTwice = dice.chance(0.25);
    await kill(victims);
    if (isTwice) {
      // While it starts, recovers or joins.
      for (const part of victims) part.start();
      await pause(dice.between(0, STARTING_MS_MAX));
      await kill(victims);
    }
    const [first] = victims;
    const leaves = nodesMayBeLost && first !== world.server && dice.chance(0.4);
    if (leaves && first !== undefined) backInRound.set(first, round + ROUNDS_AWAY);
    await options.between?.(round);
    await startAgain(world, (part) => (backInRound.get(part) ?? 0) > round);
    if (dice.chance(0.3) && backInRound.size === 0) await world.nodesAreConnected();
    for (const [part, back] of backInRound) {
      if (back === round + 1) await world.nodeIsLost(part); // quick rounds may be over before that
      if (back <= round) backInRound.delete(part);
    }
    const away = leaves ? ", stays away" : "";
    await onRound(`${victims.map(({ name }) => name).join("+")}${isTwice ? " twice" : ""}${away}`);
    const [problem] = world.parts.flatMap(({ problems }) => problems);
    if (problem !== undefined) throw new Error(problem); // no use to continue
  }
}

/** Everything is up again, connected, and all tasks have ended. */
export async function heal(world: World): Promise<void> {
  await startAgain(world, () => false);
  await world.nodesAreConnected();
  await world.allHasEnded();
}

function chooseVictims(world: World, dice: Dice): Part[] {
  const agent = dice.pick(world.agents);
  return dice.pick([
    [world.server],
    [world.server],
    [agent],
    [agent],
    [agent, world.server],
    [...world.agents, world.server],
  ]);
}

const kill = async (victims: readonly Part[]): Promise<void> => {
  await Promise.all(victims.map((part) => part.kill()));
};

/** All at once: a start costs as much as a round, and in real life nothing waits either. */
async function startAgain(world: World, isAway: (part: Part) => boolean): Promise<void> {
  for (const agent of world.agents) if (!isAway(agent)) agent.start();
  if (!world.server.isUp) await world.startServer();
}
