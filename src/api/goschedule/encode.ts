import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { GoScheduleState, WorkerState } from "./task-state.ts";

/** Field numbers of scheduler.proto. */
const TASK = {
  id: 1,
  cmd: 2,
  parameters: 3,
  state: 4,
  stdout: 5,
  stderr: 6,
  workerId: 7,
  workerError: 8,
};
const WORKER = { id: 1, address: 2, state: 3, ntasks: 4 };
const ROWS = 1;

/** The bytes that a row of this size takes in a list. */
export const bytesInList = (length: number): number => header(length).length + length;

export interface GoScheduleTask {
  readonly id: string;
  readonly command: readonly string[];
  readonly state: GoScheduleState;
  readonly workerId: string;
  readonly workerError: string;
}

/** A Task, to which its outputs may be added. Lists are long, so each row is written once. */
export function encodeTask({
  id,
  command,
  state,
  workerId,
  workerError,
}: GoScheduleTask): Uint8Array {
  const writer = new BinaryWriter();
  const [cmd = "", ...parameters] = command;
  text(writer, TASK.id, id);
  text(writer, TASK.cmd, cmd);
  // An empty argument counts as one.
  for (const each of parameters) writer.tag(TASK.parameters, WireType.LengthDelimited).string(each);
  text(writer, TASK.state, state);
  text(writer, TASK.workerId, workerId);
  text(writer, TASK.workerError, workerError);
  return writer.finish();
}

export function encodeOutputs(outputs: { readonly stdout: string; readonly stderr: string }) {
  const writer = new BinaryWriter();
  text(writer, TASK.stdout, outputs.stdout);
  text(writer, TASK.stderr, outputs.stderr);
  return writer.finish();
}

export function encodeWorker(worker: {
  readonly id: string;
  readonly address: string;
  readonly state: WorkerState;
  readonly tasks: number;
}): Uint8Array {
  const writer = new BinaryWriter();
  text(writer, WORKER.id, worker.id);
  text(writer, WORKER.address, worker.address);
  text(writer, WORKER.state, worker.state);
  if (worker.tasks > 0) writer.tag(WORKER.ntasks, WireType.Varint).int64(worker.tasks);
  return writer.finish();
}

/** A list of rows, each in parts. */
export function encodeList(rows: readonly (readonly Uint8Array[])[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const row of rows) {
    let length = 0;
    for (const part of row) length += part.length;
    parts.push(header(length), ...row);
  }
  return Buffer.concat(parts);
}

function header(length: number): Uint8Array {
  const bytes = [(ROWS << 3) | WireType.LengthDelimited];
  for (let rest = length; ; rest >>>= 7) {
    if (rest < 0x80) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest & 0x7f) | 0x80);
  }
}

function text(writer: BinaryWriter, field: number, value: string): void {
  if (value !== "") writer.tag(field, WireType.LengthDelimited).string(value);
}
