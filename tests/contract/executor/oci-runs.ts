import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";

import type { ContainerTerms } from "../../../src/core/model/job/containers/containers.ts";
import type { Executor, RunEnd, RunId, RunRequest } from "../../../src/ports/executor.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { whyNoContainers, writeImageLayout } from "../../support/container-image.ts";
import { aRequest, endOfRun, readAll, reportFor } from "./executor-contract.ts";
import { inImage, makeOciBed, type OciBed } from "./oci-bed.ts";
import { taggedBy } from "./process-bed.ts";
import { shell } from "./process-behaviour.ts";

const why = await whyNoContainers();

/** Shared by tests of containers: an image, and a directory in which it is unpacked once. */
export interface OciWorld {
  readonly directory: string;
  readonly image: string;
  readonly kept: string;
}

/** Skips the block where containers cannot be started, with the reason. */
export function describeContainers(name: string, body: (world: OciWorld) => void): void {
  if (why !== undefined) {
    describe(name, () => test.skip(`containers cannot be started here: ${why}`, () => undefined));
    return;
  }
  describe(name, () => {
    const directory = mkdtempSync(join(tmpdir(), "busbar-image-"));
    afterAll(() => rmSync(directory, { recursive: true, force: true }));
    const image = writeImageLayout(join(directory, "layout"), {
      env: ["FROM_IMAGE=yes", "BOTH=image"],
      command: ["echo", "the image's own"],
    });
    const kept = join(directory, "kept");
    mkdirSync(kept);
    body({ directory, image, kept });
  });
}

export const SUCCESS: RunEnd = { kind: "exited", exitCode: 0 };

let count = 0;

/** An executor for each test, whose runs are in containers. */
export class OciRuns {
  readonly #world: OciWorld;
  bed!: OciBed;
  executor!: Executor;

  constructor(world: OciWorld) {
    this.#world = world;
    const { image, kept } = world;
    beforeEach(async () => {
      this.bed = makeOciBed(image, { kept });
      this.executor = await this.bed.open();
    });
    afterEach(async () => {
      await this.executor.close();
      await this.bed.dispose();
    });
  }

  start(work: RunRequest["work"], over: Partial<RunRequest> = {}): RunId {
    const id = { jobId: ++count, index: 0, attempt: 1 };
    this.executor.start(aRequest(work, { id, ...over }));
    return id;
  }

  async run(work: RunRequest["work"], over: Partial<RunRequest> = {}) {
    const id = this.start(work, over);
    const { end } = await endOfRun(this.executor, id);
    const { text: stdout } = await readAll(this.executor, id, "stdout");
    const { text: stderr } = await readAll(this.executor, id, "stderr");
    return { id, end, stdout, stderr };
  }

  inside(text: string, over: Partial<ContainerTerms> = {}, more: Partial<RunRequest> = {}) {
    return this.run(shell(text), { container: inImage(this.#world.image, over), ...more });
  }

  untilOutput(id: RunId, ...parts: readonly string[]) {
    return eventually(
      async () => {
        const report = reportFor(this.executor, id);
        expect(report?.kind, JSON.stringify(report)).not.toBe("ended");
        const how = { offset: 0, maxBytes: 1_000, waitMs: 0 };
        const { data } = await this.executor.readOutput(id, "stdout", how);
        const text = Buffer.from(data).toString();
        return parts.every((part) => text.includes(part));
      },
      { what: parts.join("") },
    );
  }

  nothingLeft() {
    const { kept } = this.#world;
    return eventually(
      () =>
        readdirSync(join(kept, "runs")).length === 0 &&
        readdirSync(join(kept, "states")).length === 0 &&
        readdirSync(join(kept, "cache/incoming")).length === 0 &&
        taggedBy(this.bed.runsDirectory).length === 0,
      { what: "containers to go" },
    );
  }
}
