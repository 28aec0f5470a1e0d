/**
 * Deliberate faults at the ports, to check that a checker catches them; all off in a real run. Faults inside the product's own code are
 * made by changing its text: mutants.ts.
 */
export interface Seams {
  /** The store reports "durable" too early. */
  readonly storeAnswersEarly: boolean;
  /** A crash loses the last durable batch. */
  readonly diskLosesLastBatch: boolean;
  /** A restarted server does not find its newest job. */
  readonly loadLosesJob: boolean;
  /** A restarted agent does not know the runs it had started. */
  readonly agentForgetsItsJournal: boolean;
  readonly machineStartsTwice: boolean;
  /** Every fifth message from the server to an agent is lost, and the stream continues. */
  readonly streamLosesMessages: boolean;
  /** Ends that agents report do not arrive. */
  readonly endsGetLost: boolean;
  readonly stopsGetLost: boolean;
  /** Reports are acknowledged before the server has stored them. */
  readonly acknowledgedByTheWay: boolean;
  /** The door drops the keys of submissions. */
  readonly keysGetLost: boolean;
  /** One in twenty watch events is dropped. */
  readonly watchLosesEvents: boolean;
}

export const NO_SEAMS: Seams = {
  storeAnswersEarly: false,
  diskLosesLastBatch: false,
  loadLosesJob: false,
  agentForgetsItsJournal: false,
  machineStartsTwice: false,
  streamLosesMessages: false,
  endsGetLost: false,
  stopsGetLost: false,
  acknowledgedByTheWay: false,
  keysGetLost: false,
  watchLosesEvents: false,
};
