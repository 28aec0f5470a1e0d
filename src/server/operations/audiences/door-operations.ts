import type { Jobspec } from "../../../core/jobspec/model.ts";
import type { DocumentReader } from "../../../ports/document-reader.ts";
import type { DoorRecord, DoorRecordPut } from "../../../core/model/door-record.ts";
import type { Note } from "../../../core/model/note.ts";
import type { NotePut } from "../../../core/state/command.ts";
import type { ChosenJobView } from "../../views/satisfy-view.ts";
import type { NewestTaskView } from "../../views/views.ts";
import type { EventFollower, FollowedEvent } from "../../watch/watch-format.ts";
import type { ChosenJobInput, NewestTasksQuery, OutputQuery, TaskPlace } from "../operations.ts";

/** What doors need to serve their callers, and no caller asks for by itself. */
export interface DoorOperations {
  /**
   * Tasks of all jobs, those of the newest job first. A page may be short, even empty, and still
   * have a next one.
   */
  listNewestTasks(query: NewestTasksQuery): Promise<{
    readonly tasks: readonly NewestTaskView[];
    readonly next?: TaskPlace;
    /** How many of all tasks are not over. */
    readonly openTotal: number;
  }>;
  /**
   * Calls for every event of every kind when it is durable, before any watch is sent it: for what a
   * door has to find by other names. The call is made on the deciding thread, and must be short.
   */
  follow(hear: (event: FollowedEvent) => void): EventFollower;
  /**
   * Gives a node a share of a job's energy, of at most so many watt-seconds. Refused with `permission_denied` unless
   * a scheduler outside assigns shares.
   */
  assignShare(share: {
    readonly jobId: string;
    readonly node: string;
    readonly wattSeconds: number;
  }): Promise<{ readonly taskId: string; readonly wattSeconds: number }>;
  /** What clients of the nexus tree say of objects. */
  listNotes(): Promise<{ readonly notes: readonly Note[]; readonly revision: number }>;
  /** All or none; refused with `conflict` where one has another version than is asked for. */
  putNotes(notes: readonly NotePut[]): Promise<{ readonly revision: number }>;
  /** What this door remembers for its clients. */
  listDoorRecords(door: string): Promise<readonly DoorRecord[]>;
  /** All or none. */
  putDoorRecords(records: readonly DoorRecordPut[]): Promise<void>;
  /**
   * The body of a registration in JSON, with its graph as `registerCluster` takes it. For bodies that
   * would take long to read.
   */
  readRegistration(body: Uint8Array): Promise<Readonly<Record<string, unknown>>>;
  /** A body that is the document of a subsystem, as `addSubsystem` takes it. */
  readSubsystem(body: Uint8Array): Promise<object>;
  /** The same of a body with a jobspec. */
  readJobspecBody: DocumentReader["jobspecBody"];
  /** Resolves when a document of so many bytes may be received; rejects with `exhausted`. */
  roomFor: DocumentReader["room"];
  /** A jobspec as doors with rules of their own look into it: it may have nothing to run. */
  readJobspec(text: string): Promise<Jobspec>;
  /** Chooses a pull cluster and submits a job to it, in one step. */
  submitToChosen(input: ChosenJobInput): Promise<ChosenJobView>;
  /** As `readOutput`, for the beginning: no more than so many bytes at once. */
  readOutputStart(
    query: OutputQuery,
    bytesMax: number,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array; readonly truncated: boolean }>;
}
