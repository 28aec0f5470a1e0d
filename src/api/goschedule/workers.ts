import { isPrintable } from "../../core/model/texts.ts";
import type { MgmtReq, Task, WorkerRsp } from "../../gen/goschedule/v1/scheduler_pb.ts";
import { AppError, describeChain, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import type { RemoteShell } from "../../ports/remote-shell.ts";
import type { BidiPeer, BidiReceiver } from "../grpc/calls/bidi.ts";
import { silentFor } from "./status.ts";
import { type LinkParts, WorkerLink } from "./worker-link.ts";

export interface WorkersOptions extends LinkParts {
  readonly logger: Logger;
  /** Attaches a worker that has connected. An error from it ends the worker's stream. */
  readonly attach: (shell: RemoteShell) => void;
}

/** The connected workers, by the id that they chose. */
export class Workers {
  readonly #options: WorkersOptions;
  readonly #links = new Map<string, WorkerLink>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** A stream was opened; its first message names the worker. */
  connect(peer: BidiPeer<MgmtReq>): BidiReceiver<WorkerRsp> {
    const { clock, settings } = this.#options;
    let link: WorkerLink | undefined;
    const cancel = clock.after(settings.silenceMs, () => peer.fail(silentFor(settings.silenceMs)));
    return {
      message: (answer) => {
        if (link !== undefined) return link.received(answer);
        cancel();
        link = this.#register(answer.reply, peer);
        if (link !== undefined) this.#options.attach(link);
      },
      closed: () => {
        cancel();
        if (link !== undefined) this.#left(link);
      },
    };
  }

  /**
   * A worker's report of the end of an exec. Workers send it once and ignore the answer, so the server rejects
   * nothing: a report of an exec that is not pending, or is another worker's, changes nothing.
   */
  ended({ id, workerId, stdout, stderr }: Task): void {
    if (this.#links.get(workerId)?.ended(id, { stdout, stderr }) === true) return;
    this.#options.logger.debug(
      { worker: workerId, exec: id },
      "the worker reported the end of an unknown command",
    );
  }

  /** The connected worker keeps the name; the stream of the second one is closed without an error. */
  #register(id: string, peer: BidiPeer<MgmtReq>): WorkerLink | undefined {
    const { goScheduleIdLengthMax: max, agentSessionsMax } = limits;
    if (id.length > max || !isPrintable(id)) {
      throw invalid("reply", `a worker's id has at most ${max} characters, and no controls`);
    }
    if (this.#links.has(id)) {
      peer.close();
      return undefined;
    }
    if (this.#links.size >= agentSessionsMax) {
      throw new AppError("exhausted", "too many workers are connected");
    }
    const link = new WorkerLink(id, peer, this.#options);
    this.#links.set(id, link);
    this.#options.logger.info({ worker: id, address: link.address }, "worker connected");
    return link;
  }

  #left(link: WorkerLink): void {
    this.#links.delete(link.id);
    link.over();
    const reason = describeChain(link.closed.reason);
    this.#options.logger.info({ worker: link.id, reason }, "worker disconnected");
  }
}
