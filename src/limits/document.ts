import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Those of `limits` that bound documents of callers (docs/design/documents.md). */
export const documentLimits = {
  // One jobspec.
  jobspecCharsMax: 2 * MIB,
  jobspecValuesMax: 100_000, // aliases count each time with the values that they stand for
  jobspecDepthMax: 64,
  jobspecItemsMax: 5_000, // tasks and groups
  jobspecGroupDepthMax: 32,
  jobspecCountMax: 1_000_000_000, // of one resource, replicas, processes
  jobspecAlternativesMax: 64, // ways to satisfy the request of one task
  jobspecSizeMax: 1_000_000, // vertices and requirements that all tasks and groups request
  jobspecDependenciesMax: 100_000, // between tasks, after groups are expanded
  jobspecProblemsShownMax: 20,
  jobspecProcessesAtOnceMax: 16, // processes of a jobspec that runs on one machine
  jobsPerSliceMax: 120, // jobs of one submission that the server checks before other work has its turn: some 3 ms
  plainValuesMax: 100_000, // values of any other YAML; aliases count with the values that they stand for
  jobspecInlineCharsMax: 8 * KIB, // another thread reads longer ones
  jobspecFieldsCharsMax: 128 * KIB, // of the other fields in a body with a jobspec
  jobspecReadMsMax: 10_000, // for one jobspec; after that the server ends the thread that reads it
  jobspecReadMemoryMb: 512,
  jsonDepthMax: 128, // objects and arrays inside each other, in a JSON text of a client
  jsonPartsMax: 100_000, // objects, arrays and keys of a JSON text that the deciding thread parses at once: some 30 to 50 ms
  graphInlineBytesMax: 128 * KIB,
  graphReadMsMax: 60_000,
  graphReadMemoryMb: 4_096, // for reading JSON of the largest body
  documentsWaitingMax: 64, // of each kind
  largeDocumentsWaitingMax: 48, // the other places are for documents of at most:
  mediumDocumentBytesMax: 128 * KIB,
  roomWaitMsMax: 1_000, // for a place; clients that are rejected at once come back at once
  roomWaitersMax: 256, // callers, of each kind; the server rejects more at once
  documentBytesWaitingMax: 256 * MIB, // of each kind

  // Graphs of clusters, requests that are matched with them, and states that clusters report.
  graphVerticesMax: 1_000_000,
  graphEdgesMax: 4_000_000, // each containment may be written in both directions
  linksPerSliceMax: 50_000, // links of a subsystem, before other work has its turn
  verticesPerSliceMax: 2_000, // vertices of a graph that is rendered or linked, before other work has its turn
  graphDepthMax: 64,
  graphShapesMax: 50_000, // vertices that differ from all others
  graphTypesMax: 64, // of a cluster's own graph; subsystems have no such limit
  graphTextLengthMax: 512, // of an id, a label, a type
  unitLengthMax: 32,
  vertexMetadataCharsMax: 16 * KIB,
  graphMetadataCharsMax: 64 * MIB,
  metadataDepthMax: 8,
  subsystemsMax: 1_024,
  clusterChangesWaitingMax: 64, // changes of the graph and subsystems of one cluster
  sharedShapesMax: 20_000, // a graph with more is too irregular to share between clusters
  requestAlternativesMax: 64,
  requestVerticesMax: 256, // of one alternative
  requestDepthMax: 32,
  requirementsMax: 64, // of one vertex
  matchStepsMax: 250_000, // for one request and one graph, without a pause: some 30 to 50 ms
  searchStepsMax: 150_000, // for parts of a request that compete for the same vertices
  callStepsMax: 1_000_000, // for all requests and graphs of one call, before the next graph
  submissionStepsMax: 5_000_000, // for the different requests of one submission, in slices
  stepsPerSliceMax: 40_000, // before other work has its turn: some 5 ms, and one graph
  nodeSteps: 10, // a look at one node counts as so many steps
  expressionLengthMax: 1_000,
  expressionDepthMax: 50,
  prioritiesMax: 100,
  stepsMax: 100, // of one priority
  selectCharsMax: 16 * KIB, // of the options and parameters of one job; the deciding thread reads them
  selectCharsPerSubmissionMax: 32 * KIB, // of different options: some 30 ms to parse
  stateKeysMax: 1_000,
  stateTextLengthMax: 1_024,
  countersMax: 100, // of one cluster
  satisfyAnswersMax: 100_000, // tasks × clusters in one answer
  selectOptionsDepthMax: 16,
} as const;

invariant(
  documentLimits.graphEdgesMax >= 2 * documentLimits.graphVerticesMax,
  "the largest graph may be written in both directions",
);
invariant(
  documentLimits.selectCharsMax <= documentLimits.selectCharsPerSubmissionMax,
  "the options of one job must fit a submission",
);
invariant(
  documentLimits.largeDocumentsWaitingMax < documentLimits.documentsWaitingMax,
  "large documents must leave places for others",
);
