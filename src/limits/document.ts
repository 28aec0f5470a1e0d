import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Those of `limits` that bound documents of callers (docs/design/documents.md). */
export const documentLimits = {
  // One jobspec.
  jobspecCharsMax: 2 * MIB,
  jobspecValuesMax: 100_000, // with what aliases stand for, each time
  jobspecDepthMax: 64,
  jobspecItemsMax: 5_000, // tasks and groups
  jobspecGroupDepthMax: 32,
  jobspecCountMax: 1_000_000_000, // of one resource, replicas, processes
  jobspecAlternativesMax: 64, // ways to meet what one task asks for
  jobspecSizeMax: 1_000_000, // vertices and requirements that all tasks and groups ask for
  jobspecDependenciesMax: 100_000, // between tasks, groups taken apart
  jobspecProblemsShownMax: 20,
  jobspecProcessesAtOnceMax: 16, // of a jobspec that runs as processes of one machine
  jobsPerSliceMax: 120, // of one submission, checked before other work has its turn: some 3 ms
  plainValuesMax: 100_000, // of any other YAML, with what aliases stand for
  jobspecInlineCharsMax: 8 * KIB, // longer ones are read beside the deciding thread
  jobspecFieldsCharsMax: 128 * KIB, // beside a jobspec in the same body
  jobspecReadMsMax: 10_000, // for one, after which its thread is ended
  jobspecReadMemoryMb: 512,
  graphInlineBytesMax: 128 * KIB,
  graphReadMsMax: 60_000,
  graphReadMemoryMb: 4_096, // what JSON of the largest body may take when it is read
  documentsWaitingMax: 64, // of each kind
  largeDocumentsWaitingMax: 48, // the other places are for documents of at most:
  mediumDocumentBytesMax: 128 * KIB,
  roomWaitMsMax: 1_000, // for a place; a crowd that is refused at once comes back at once
  roomWaitersMax: 256, // of each kind; beyond it callers are refused at once
  documentBytesWaitingMax: 256 * MIB, // of each kind

  // Graphs of clusters, what is asked of them, and what clusters say of themselves.
  graphVerticesMax: 1_000_000,
  graphEdgesMax: 4_000_000, // each containment may be written both ways
  linksPerSliceMax: 50_000, // of a subsystem, the same
  verticesPerSliceMax: 2_000, // of a graph that is rendered or linked, before other work has its turn
  graphDepthMax: 64,
  graphShapesMax: 50_000, // vertices that are like no other
  graphTypesMax: 64, // of a cluster's own graph; subsystems have as many as they like
  graphTextLengthMax: 512, // of an id, a label, a type
  unitLengthMax: 32,
  vertexMetadataCharsMax: 16 * KIB,
  graphMetadataCharsMax: 64 * MIB,
  metadataDepthMax: 8,
  subsystemsMax: 1_024,
  clusterChangesWaitingMax: 64, // of the graph and subsystems of one cluster
  sharedShapesMax: 20_000, // a graph with more is too irregular to be shared between clusters
  requestAlternativesMax: 64,
  requestVerticesMax: 256, // of one alternative
  requestDepthMax: 32,
  requirementsMax: 64, // of one vertex
  matchStepsMax: 250_000, // for one request and graph, in one go: some 30 to 50 ms
  searchStepsMax: 150_000, // for parts of a request that are in each other's way
  callStepsMax: 1_000_000, // for all requests and graphs of one call, before another graph is begun
  submissionStepsMax: 5_000_000, // the same for the different requests of one submission, in slices
  stepsPerSliceMax: 40_000, // before other work has its turn: some 5 ms, and one graph
  nodeSteps: 10, // that a look at one node counts as
  expressionLengthMax: 1_000,
  expressionDepthMax: 50,
  prioritiesMax: 100,
  stepsMax: 100, // of one priority
  selectCharsMax: 16 * KIB, // of the options and parameters of one job: read where all is decided
  selectCharsPerSubmissionMax: 32 * KIB, // of options that differ: some 30 ms to parse
  stateKeysMax: 1_000,
  stateTextLengthMax: 1_024,
  countersMax: 100, // of one cluster
  satisfyAnswersMax: 100_000, // tasks × clusters, told in one answer
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
