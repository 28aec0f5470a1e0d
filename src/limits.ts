import { invariant } from "./lib/invariant.ts";
import { agentLimits } from "./limits/agent.ts";
import { aheadLimits } from "./limits/ahead.ts";
import { apiLimits } from "./limits/api.ts";
import { documentLimits } from "./limits/document.ts";
import { doorsLimits } from "./limits/doors.ts";
import { graphqlLimits } from "./limits/graphql.ts";
import { jobLimits } from "./limits/job.ts";
import { containerLimits, launcherLimits } from "./limits/launcher.ts";
import { linkLimits } from "./limits/link.ts";
import { loopLimits } from "./limits/loop.ts";
import { lowerLimits } from "./limits/lower.ts";
import { machineLimits } from "./limits/machine.ts";
import { attachLimits, outputLimits } from "./limits/output.ts";
import { progressLimits } from "./limits/progress.ts";
import { remoteLimits } from "./limits/remote.ts";
import { secretLimits } from "./limits/secret.ts";
import { stateLimits } from "./limits/state.ts";
import { storeLimits } from "./limits/store.ts";
import { http2Limits, transportLimits } from "./limits/transport.ts";
import { watchLimits } from "./limits/watch.ts";

/**
 * Every queue, message, retry and wait has a limit. Each layer has a file in `limits/`; they are put
 * together here, where relations between layers are checked. Limits that people may want to change
 * are also flags of `busbar server` or `busbar agent`; these are the defaults.
 */
export const limits = {
  ...jobLimits,
  ...documentLimits,
  ...stateLimits,
  ...secretLimits,
  ...machineLimits,
  ...loopLimits,
  ...progressLimits,
  ...aheadLimits,
  ...apiLimits,
  ...doorsLimits,
  ...graphqlLimits,
  ...watchLimits,
  ...transportLimits,
  ...http2Limits,
  ...agentLimits,
  ...linkLimits,
  ...launcherLimits,
  ...containerLimits,
  ...lowerLimits,
  ...remoteLimits,
  ...outputLimits,
  ...attachLimits,
  ...storeLimits,
} as const;

invariant(
  limits.nodeLostAfterMs > limits.reconnectDelayMsMax,
  "an agent must get a chance to come back before its node is lost",
);
invariant(
  limits.poolThreads > limits.secretChecksMax + limits.unpackingsAtOnceMax,
  "a commit must find a free thread of the pool",
);
invariant(limits.outputChunkBytesMax < limits.messageBytesMax, "output must fit a message");
invariant(limits.workBytesMax < limits.messageBytesMax, "the largest job must fit a message");
invariant(limits.jobspecCharsMax < limits.messageBytesMax, "a jobspec must fit a message");
invariant(limits.receivedBytesMax < limits.messageBytesMax, "received jobs must fit a message");
invariant(
  2 * limits.goSchedulePingMs < limits.goScheduleSilenceMs,
  "a worker must miss several pings before it is given up",
);
invariant(
  limits.graphqlDocumentCharsMax < limits.graphqlBodyBytesMax &&
    limits.graphqlBodyBytesMax < limits.messageBytesMax,
  "a document of GraphQL must fit its body, and that a message",
);
invariant(limits.listedBytesMax < limits.messageBytesMax, "listed tasks must fit a message");
invariant(
  limits.goScheduleExecsMax < limits.streamQueueMessagesMax,
  "what may be under way to a worker must not end its stream",
);
invariant(
  limits.goScheduleUntakenBytesMax <= limits.streamQueueBytesMax &&
    limits.streamQueueBytesMax < limits.answerBytesPerConnectionMax,
  "what one worker has not acknowledged must not end its stream",
);
invariant(limits.factsCharsMax * 3 < limits.messageBytesMax, "a machine's facts must fit a hello");
invariant(limits.factTextLengthMax <= limits.graphTextLengthMax, "a fact must fit a type");
invariant(
  limits.discoveryMsMax < limits.helloTimeoutMs,
  "an agent must say hello though its machine is slow to describe itself",
);
invariant(limits.takenRunsMax < limits.runsPerAgentMax, "an agent must report all it took");
invariant(
  limits.documentBytesMax < limits.grpcSessionBytesMax,
  "a document must fit what a connection may hold",
);
invariant(
  limits.documentBytesMax < limits.largeRequestBytesPerConnectionMax &&
    limits.largeRequestBytesPerConnectionMax < limits.largeRequestBytesTotalMax,
  "a document must fit what a connection may hold, and one connection must not hold everything",
);
invariant(
  2 * limits.smallRequestBytesPerConnectionMax < limits.smallRequestBytesTotalMax,
  "one connection must not hold the reserve for small requests",
);
invariant(
  limits.requestsWaitingMax * (limits.smallMessageBytesMax + limits.openRequestBytes) <
    limits.smallRequestBytesTotalMax / 2,
  "requests that wait for room must not hold the reserve for small requests",
);
invariant(
  limits.documentBytesMax < limits.answerBytesPerConnectionMax &&
    limits.answerBytesPerConnectionMax < limits.answerBytesTotalMax,
  "an answer about many clusters must fit what a connection may hold",
);
invariant(
  limits.storeWalIdleBytes < limits.storeWalBytesMax,
  "an idle store must empty its log before a busy one has to",
);
invariant(
  16 * limits.storeJournalEntryBytesMax <= limits.storeJournalBytes &&
    limits.storeJournalBytes < limits.storeWalIdleBytes,
  "the journal must hold several commits, and must not hold more than the log",
);
invariant(
  limits.storeApplyRows < limits.storeApplyRowsMax,
  "the store must use a pause before it delays commits",
);
invariant(
  limits.submitJobsMax < limits.possibleKnownMax &&
    limits.messageBytesMax < limits.possibleKnownCharsMax,
  "what is found out about the requests of one submission must be known when it is decided",
);
invariant(limits.changesPerBatchMax <= limits.storeGroupRowsMax, "a batch must fit a group");
invariant(limits.connectionsMax > limits.agentSessionsMax, "agents must not take all connections");
invariant(
  limits.returnsAtOnceMax < limits.returnsMax && limits.returnBackoffMs < limits.returnBackoffMsMax,
  "a task that nodes give back must wait, and longer each time, before it fails",
);
invariant(
  limits.diskFreeBytesMin > limits.workBytesMax,
  "a disk that is not full must take the largest script",
);
invariant(limits.oneImageBytesMax <= limits.imageBytesMax, "an image must fit its cache");
invariant(
  limits.imageReserveBytes - limits.diskFreeBytesMin >
    (limits.imageSpaceCheckMs / 1_000) * limits.diskBytesPerSecondMax,
  "an image must be stopped before it has filled the disk of its node",
);
invariant(
  limits.quarantineJobs <= limits.suspectJobsPerNodeMax &&
    limits.suspectJobsPerNodeMax < limits.suspectJobsMax &&
    limits.quarantineMs < limits.quarantineMsMax,
  "what quarantines a node must be remembered, and waits must grow",
);
invariant(limits.listSliceLooks < limits.listPageLooksMax, "a page may take several slices");
invariant(limits.pageSizeDefault <= limits.pageSizeMax, "the default page must be allowed");
