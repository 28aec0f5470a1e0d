import { createHash, createHmac } from "node:crypto";
import { join } from "node:path/posix";
import { toResources } from "../../../core/model/resources.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Random } from "../../../ports/random.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import { createAgent } from "../../agent.ts";
import type { ConnectLink } from "../../link/link.ts";
import type { NodeNames } from "./node-names.ts";
import type { ProbedMachine } from "./probe.ts";
import { script } from "./commands.ts";
import { formatWorker, probeMachine } from "./probe.ts";
import { NOTE_WORKER } from "./scripts/probe-script.ts";
import type { RemoteExecutorOptions } from "./remote-executor.ts";
import { createRemoteExecutor } from "./remote-executor.ts";

export interface RemoteAgentOptions {
  readonly names: NodeNames;
  /** The id of this server, stored with its data: it recognizes nodes, and separates runs of different servers. */
  readonly secret: string;
  readonly cluster: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The program of the worker; shown with the node. */
  readonly program: string;
  readonly connect: (shell: RemoteShell) => ConnectLink;
  readonly onHeads?: RemoteExecutorOptions["onHeads"];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Runs the agent of a remote machine until its link ends. It refuses a machine that cannot run tasks, with the reason. */
export async function runRemoteAgent(
  shell: RemoteShell,
  options: RemoteAgentOptions,
): Promise<void> {
  const { logger } = options;
  try {
    const machine = await probeMachine(shell, installationOf(options.secret));
    while (!shell.closed.aborted) await serve(shell, machine, options);
  } catch (error) {
    if (shell.closed.aborted) return;
    const reason = AppError.from(error, "run a machine without an agent");
    logger.warn(
      { worker: shell.id, address: shell.address, reason: describeChain(reason) },
      "worker refused",
    );
    shell.close(reason);
  }
}

async function serve(
  shell: RemoteShell,
  machine: ProbedMachine,
  options: RemoteAgentOptions,
): Promise<void> {
  const { names, secret, clock, random, logger } = options;
  const name = await names.claim(machine, shell);
  try {
    const place = { ...machine.place, directory: join(machine.place.directory, name) };
    const { onHeads } = options;
    const heads = onHeads === undefined ? {} : { onHeads };
    const link = random.token(LINK_BYTES);
    const executor = await createRemoteExecutor({ shell, place, link, clock, logger, ...heads });
    // The machine also works without the note: only a restarted worker may get another name.
    const noted = noteWorker(shell, machine, name).catch((error: unknown) => {
      const reason = describeChain(error);
      logger.warn(
        { node: name, worker: shell.id, reason },
        "could not write the node's name to the worker's machine",
      );
    });
    const agent = createAgent({
      name,
      cluster: options.cluster,
      agentKey: createHmac("sha256", secret).update(machine.identity).digest("hex"),
      bootId: machine.bootId,
      version: `${options.program}, ${machine.system}`,
      capacity: toResources(machine.amounts, "capacity", limits.resourceNamesMax),
      labels: options.labels,
      canHold: true,
      executor,
      connect: options.connect(shell),
      clock,
      random,
      logger,
    });
    logger.info(
      { node: name, worker: shell.id, address: shell.address },
      "worker joined as a node",
    );
    try {
      await agent.run(shell.closed);
    } finally {
      await executor.close();
      await noted;
    }
  } catch (error) {
    const isTaken = error instanceof AppError && error.code === "permission_denied";
    if (!isTaken || !names.refuse(machine)) throw error;
  } finally {
    names.release(name, shell);
  }
}

/** Read after a restart of the worker or of the server, to assign the same name. */
async function noteWorker(shell: RemoteShell, machine: ProbedMachine, name: string): Promise<void> {
  const { place } = machine;
  const file = join(place.directory, `${name}.worker`);
  const command = script(place, NOTE_WORKER, file, formatWorker(machine));
  await shell.exec(command, { timeoutMs: limits.remoteCommandMsMax });
}

const LINK_BYTES = 4;

const installationOf = (secret: string): string =>
  createHash("sha256").update(secret).digest("hex").slice(0, 12);
