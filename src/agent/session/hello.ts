import type { AgentFacts } from "../agent-facts.ts";

/** The content of Hello in every session of an agent. */
export const toHello = (facts: AgentFacts) => ({
  node: facts.name,
  cluster: facts.cluster,
  agentKey: facts.agentKey,
  bootId: facts.bootId,
  version: facts.version,
  capacity: { ...facts.capacity },
  labels: { ...facts.labels },
  canHold: facts.canHold === true,
  wantsJobSpec: facts.wantsJobSpec === true,
  canAttach: facts.canAttach === true,
  onLost: facts.loss?.onLost ?? "",
  lostAfterMs: facts.loss?.lostAfterMs ?? 0,
  heartbeatMs: facts.linkTimes?.heartbeatMs ?? 0,
  silenceMs: facts.linkTimes?.silenceMs ?? 0,
  ...(facts.clusterAgent && {
    clusterAgent: {
      leaseMs: facts.clusterAgent.leaseMs,
      onLost: facts.clusterAgent.onLost,
      wantsJobSpec: facts.clusterAgent.wantsJobSpec === true,
    },
  }),
});
