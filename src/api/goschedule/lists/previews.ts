import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { previewOf, START_BYTES } from "../texts.ts";

/** One attempt at a task. */
export interface AttemptRef {
  readonly jobId: string | number;
  readonly index: number;
  readonly attempt: number;
}

/** An attempt whose output is on a node. */
export interface ReadableAttempt extends AttemptRef {
  readonly taskId: string;
}

/** The beginnings of its outputs. */
export interface Preview {
  readonly stdout: string;
  readonly stderr: string;
}

const keyOf = ({ jobId, index, attempt }: AttemptRef): string => `${jobId}.${index}#${attempt}`;
const EMPTY: Preview = { stdout: "", stderr: "" };

/**
 * The beginnings of outputs of ended tasks, as lists show them; the latest ones. Parts that know an output add it here; others are read
 * from their nodes, a few at a time.
 */
export class Previews {
  readonly #known = new Map<string, Preview>();
  readonly #reading = new Map<string, Promise<void>>();

  put(attempt: AttemptRef, output: Readonly<Record<keyof Preview, Uint8Array>>): void {
    const stdout = previewOf(output.stdout);
    this.#remember(keyOf(attempt), { stdout, stderr: previewOf(output.stderr) });
  }

  get(attempt: AttemptRef): Preview | undefined {
    return this.#known.get(keyOf(attempt));
  }

  /** Reads the unknown ones. Outputs that arrive too late for this list are remembered for the next. */
  async readSome(
    wanted: readonly ReadableAttempt[],
    {
      operations,
      clock,
    }: { readonly operations: Pick<Operations, "readOutputStart">; clock: Clock },
  ): Promise<void> {
    const left = wanted.filter((each) => this.get(each) === undefined).values();
    const late = Promise.withResolvers<void>();
    let isLate = false;
    const cancel = clock.after(limits.previewsMsMax, () => {
      isLate = true;
      late.resolve();
    });
    const readOn = async (): Promise<void> => {
      for (const each of left) {
        await this.#read(each, operations);
        if (isLate) return;
      }
    };
    const all = Promise.all(Array.from({ length: limits.previewsAtOnceMax }, readOn));
    await Promise.race([all, late.promise]);
    cancel();
  }

  /** Never fails: it is only a preview. */
  #read(attempt: ReadableAttempt, operations: Pick<Operations, "readOutputStart">): Promise<void> {
    const key = keyOf(attempt);
    const under = this.#reading.get(key);
    if (under !== undefined) return under;
    // Stuck reads of earlier lists must not accumulate.
    if (this.#reading.size >= 4 * limits.previewsAtOnceMax) return Promise.resolve();
    const reading = readPreview(attempt, operations)
      .then(
        (preview) => this.#remember(key, preview),
        (error: unknown) => {
          const isGone = error instanceof AppError && error.code === "not_found";
          if (isGone) this.#remember(key, EMPTY);
        },
      )
      .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  #remember(key: string, preview: Preview): void {
    this.#known.delete(key);
    this.#known.set(key, preview);
    const [oldest] = this.#known.keys();
    if (this.#known.size > limits.knownPreviewsMax && oldest !== undefined) {
      this.#known.delete(oldest);
    }
  }
}

async function readPreview(
  attempt: ReadableAttempt,
  operations: Pick<Operations, "readOutputStart">,
): Promise<Preview> {
  const [stdout, stderr] = await Promise.all([
    readStart(attempt, "stdout", operations),
    readStart(attempt, "stderr", operations),
  ]);
  return { stdout: previewOf(stdout), stderr: previewOf(stderr) };
}

async function readStart(
  { taskId, attempt }: ReadableAttempt,
  stream: "stdout" | "stderr",
  operations: Pick<Operations, "readOutputStart">,
): Promise<Uint8Array> {
  const query = { taskId, attempt, stream };
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const { data } of operations.readOutputStart(
    query,
    START_BYTES,
    new AbortController().signal,
  )) {
    parts.push(data);
    length += data.length;
    if (length >= START_BYTES) break;
  }
  return Buffer.concat(parts);
}
