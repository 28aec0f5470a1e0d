import { AnswerBytes } from "./answer-bytes.ts";
import { type ConnectionBytes, RequestBytes } from "./request-bytes.ts";
import { Unpacking } from "../calls/unpacking.ts";

/** The memory that calls of all connections share. */
export interface CallMemory {
  readonly requests: RequestBytes;
  readonly answers: AnswerBytes;
  readonly unpacking: Unpacking;
}

/** The part of one connection. */
export interface ConnectionMemory extends CallMemory {
  readonly requestsHere: ConnectionBytes;
  readonly answersHere: { bytes: number };
}

/** For all doors of one process. */
export const createCallMemory = (): CallMemory => ({
  requests: new RequestBytes(),
  answers: new AnswerBytes(),
  unpacking: new Unpacking(),
});

/** Total of released bytes since the start: the memory that a garbage collection could free grows with it. */
export const releasedBytes = ({ requests, answers }: CallMemory): number =>
  requests.counts.released + answers.counts.released;

/** The memory of a new connection. */
export const openConnectionMemory = (memory: CallMemory): ConnectionMemory => ({
  ...memory,
  requestsHere: { small: 0, large: 0 },
  answersHere: { bytes: 0 },
});

/** Finds the memory of each connection. */
export function memoryOf(memory: CallMemory): (connection: object) => ConnectionMemory {
  const known = new WeakMap<object, ConnectionMemory>();
  return (connection) => {
    let here = known.get(connection);
    if (here === undefined) {
      here = openConnectionMemory(memory);
      known.set(connection, here);
    }
    return here;
  };
}
