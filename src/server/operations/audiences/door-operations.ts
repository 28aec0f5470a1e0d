import type { Jobspec } from "../../../core/jobspec/model.ts";
import type { DocumentReader } from "../../../ports/document-reader.ts";
import type { DoorRecord, DoorRecordPut } from "../../../core/model/door-record.ts";
import type { Note } from "../../../core/model/note.ts";
import type { NotePut } from "../../../core/state/command.ts";
import type { ChosenJobView } from "../../views/satisfy-view.ts";
import type { NewestTaskView } from "../../views/views.ts";
import type { JobBrief } from "../../watch/job-brief.ts";
import type { EventFollower, FollowedEvent } from "../../watch/watch-format.ts";
import type {
  ChosenJobInput,
  JobFilter,
  NewestTasksQuery,
  OutputQuery,
  Page,
  TaskPlace,
} from "../operations.ts";

/** Operations that doors call to serve their clients, and that no client calls directly. */
export interface DoorOperations {
  /**
   * Tasks of all jobs, those of the newest job first. A page may be short, even empty, and still
   * have a next one.
   */
  listNewestTasks(query: NewestTasksQuery): Promise<{
    readonly tasks: readonly NewestTaskView[];
    readonly next?: TaskPlace;
    /** How many of all tasks have not ended. */
    readonly openTotal: number;
  }>;
  /** The jobs of `listJobs`, newest first, without most of their specs and without reasons that only the queue knows. */
  listJobBriefs(
    filter: JobFilter,
    page: Page,
  ): Promise<{ readonly jobs: readonly JobBrief[]; readonly nextPageToken?: string }>;
  /**
   * Calls the listener for every event of every kind when it is durable, before any watch receives it. Doors keep
   * their own indexes with it. The call runs on the deciding thread, and must be short.
   */
  follow(hear: (event: FollowedEvent) => void): EventFollower;
  /**
   * Assigns a share of a job's energy to a node, of at most so many watt-seconds. Rejects with `permission_denied`
   * unless an external scheduler assigns shares.
   */
  assignShare(share: {
    readonly jobId: string;
    readonly node: string;
    readonly wattSeconds: number;
  }): Promise<{ readonly taskId: string; readonly wattSeconds: number }>;
  /** Labels and annotations that clients of the nexus tree set on objects. */
  listNotes(): Promise<{ readonly notes: readonly Note[]; readonly revision: number }>;
  /** Writes all or none; rejects with `conflict` when one has another version than the request names. */
  putNotes(notes: readonly NotePut[]): Promise<{ readonly revision: number }>;
  /** Records that this door stores for its clients. */
  listDoorRecords(door: string): Promise<readonly DoorRecord[]>;
  /** All or none. */
  putDoorRecords(records: readonly DoorRecordPut[]): Promise<void>;
  /**
   * Reads the JSON body of a registration, with its graph as `registerCluster` accepts it. For bodies that
   * take long to read.
   */
  readRegistration(body: Uint8Array): Promise<Readonly<Record<string, unknown>>>;
  /** Reads a body that is the document of a subsystem, as `addSubsystem` accepts it. */
  readSubsystem(body: Uint8Array): Promise<object>;
  /** Reads a body with a jobspec. */
  readJobspecBody: DocumentReader["jobspecBody"];
  /** Resolves when the server can receive a document of so many bytes; otherwise rejects with `exhausted`. */
  roomFor: DocumentReader["room"];
  /** Reads a jobspec for doors with their own rules: it may have nothing to run. */
  readJobspec(text: string): Promise<Jobspec>;
  /** Chooses a pull cluster and submits a job to it, in one step. */
  submitToChosen(input: ChosenJobInput): Promise<ChosenJobView>;
  /** Like `readOutput`, for the beginning only: no more than so many bytes at once. */
  readOutputStart(
    query: OutputQuery,
    bytesMax: number,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array; readonly truncated: boolean }>;
}
