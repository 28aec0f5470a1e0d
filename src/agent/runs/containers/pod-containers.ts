import { type ContainerTerms, IMAGE_RULE } from "../../../core/model/job/containers/containers.ts";
import { podOf, type WorkloadContainer } from "../../../core/model/job/workload/workload.ts";
import { checkRule } from "../../../lib/rules/check-rule.ts";
import type { RunRequest } from "../../../ports/executor.ts";

/** Converts an instance of a workload of rik to a run with containers; returns any other run unchanged. Throws an Error for people. */
export function withContainers(request: RunRequest): RunRequest {
  if (request.work.kind !== "workload") return request;
  const container = podContainers(request.work.text);
  return { ...request, work: { kind: "command", argv: [] }, container };
}

function podContainers(text: string): ContainerTerms {
  const pod = podOf(text);
  if (pod === undefined) throw new Error("a Function needs a rik worker; this node runs Pods only");
  if (pod.containers.length === 0) throw new Error(`the workload ${pod.name} has no containers`);
  const containers = pod.containers.map((one, at) => {
    checkPorts(one);
    const image = checkRule(one.image, `spec.containers[${at}].image`, IMAGE_RULE);
    const env = Object.fromEntries((one.env ?? []).map(({ name, value }) => [name, value]));
    return { name: shownName(one.name), image, command: [], env };
  });
  return { image: undefined, containers, mounts: [], network: "host" };
}

/** Containers share the node's network: a program is reachable on the port where it listens. */
function checkPorts({ name, ports }: WorkloadContainer): void {
  if (ports === undefined || ports.port === ports.target_port) return;
  throw new Error(
    `container ${name}: port ${ports.port} cannot lead to ${ports.target_port}: containers share the ` +
      `network of the node; let the program listen on ${ports.port}`,
  );
}

/** The prefix of its output lines. */
const shownName = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, 63);
