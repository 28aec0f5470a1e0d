import type { AnswerForm } from "./decode.ts";

/** The values of rainbow's enums that we send. */
export const REGISTER = { SUCCESS: 1, EXISTS: 4 } as const;
export const SUBMIT_SUCCESS = 1;

export interface SubmitAnswer {
  readonly jobId: number;
  readonly cluster: string;
  /** The selected clusters, when the request was only a trial. */
  readonly clusters: readonly string[];
}

/**
 * A SubmitJobResponse. Its status was field 3 until that became the cluster and the status field 4:
 * written both ways it is read by everyone, because decoders put aside a field whose form is not
 * the one they know. Clients that print unknown fields would show it, so the server writes both only for
 * clients that do not name their version.
 */
export function encodeSubmitted(
  { jobId, cluster, clusters }: SubmitAnswer,
  form: AnswerForm,
): Buffer {
  const message = new Message().number(2, jobId);
  if (form !== "newest") message.number(3, SUBMIT_SUCCESS);
  if (form === "first") return message.end();
  message.text(3, cluster).number(4, SUBMIT_SUCCESS);
  for (const name of clusters) message.text(5, name);
  return message.end();
}

export interface RegisterAnswer {
  readonly status: (typeof REGISTER)[keyof typeof REGISTER];
  readonly token: string;
  readonly secret: string;
}

/** A RegisterResponse. In the very first version the status was field 3: the same trick. */
export function encodeRegistered(
  { status, token, secret }: RegisterAnswer,
  form: AnswerForm,
): Buffer {
  const message = new Message().text(2, token);
  if (form !== "newest") message.number(3, status);
  return message.text(3, secret).number(4, status).end();
}

export const RECEIVE = { NORESULTS: 0, SUCCESS: 1 } as const;

/** A ReceiveJobsResponse: many records at once, each written at its place in the answer. */
export function encodeReceived(jobs: ReadonlyMap<number, string>): Buffer {
  const heads: Buffer[] = [];
  let length = 0;
  for (const [id, record] of jobs) {
    const bytes = Buffer.byteLength(record);
    const [key, size] = [varint(id), varint(bytes)];
    const entry = 2 + key.length + size.length + bytes;
    const head = Buffer.concat([TAG_OF_JOB, varint(entry), TAG_OF_ID, key, TAG_OF_RECORD, size]);
    heads.push(head);
    length += head.length + bytes;
  }
  const status = new Message().number(3, jobs.size > 0 ? RECEIVE.SUCCESS : RECEIVE.NORESULTS).end();
  const answer = Buffer.allocUnsafe(length + status.length);
  let [at, entries] = [0, 0];
  for (const record of jobs.values()) {
    at += heads[entries++]?.copy(answer, at) ?? 0;
    at += answer.write(record, at);
  }
  status.copy(answer, at);
  return answer;
}

/** One message while it is being written. Omits empty fields. */
class Message {
  /** Tags with their values: a number is a varint, a text has its length before it. */
  readonly #fields: (number | string)[] = [];
  #size = 0;

  number(field: number, value: number): this {
    if (value !== 0) this.#add(field * 8, value, varintSize(value));
    return this;
  }

  text(field: number, value: string): this {
    if (value === "") return this;
    const bytes = Buffer.byteLength(value);
    this.#add(field * 8 + 2, value, varintSize(bytes) + bytes);
    return this;
  }

  #add(tag: number, value: number | string, size: number): void {
    this.#fields.push(tag, value);
    this.#size += varintSize(tag) + size;
  }

  end(): Buffer {
    const message = Buffer.allocUnsafe(this.#size);
    let at = 0;
    for (const field of this.#fields) {
      if (typeof field === "number") {
        at = writeVarint(message, field, at);
      } else {
        at = writeVarint(message, Buffer.byteLength(field), at);
        at += message.write(field, at);
      }
    }
    return message;
  }
}

function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

/** Returns the place after it. */
function writeVarint(into: Buffer, value: number, start: number): number {
  let at = start;
  let rest = value;
  while (rest >= 0x80) {
    into[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  into[at++] = rest;
  return at;
}

function varint(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(varintSize(value));
  writeVarint(bytes, value, 0);
  return bytes;
}

/** Field 2 of the answer is a map: entries of a number, field 1, and a text, field 2. */
const TAG_OF_JOB = varint(2 * 8 + 2);
const TAG_OF_ID = varint(1 * 8);
const TAG_OF_RECORD = varint(2 * 8 + 2);
