import { principalOf } from "../../core/model/credential.ts";
import { clusterId } from "../../core/model/ids.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { RegisterRequest } from "./wire/decode.ts";
import { nameAlone, readClusterNodes, readNodes, readState } from "./wire/documents.ts";
import { REGISTER, type RegisterAnswer } from "./wire/encode.ts";
import type { RainbowOperations } from "./operations.ts";
import { refuse } from "./status.ts";

/** A cluster, as whoever has its secret may speak for it. */
export interface ClusterSpeaker {
  readonly cluster: string;
  readonly secret: string;
}

// Who asks, as it is written beside what changes.
export const speaksFor = (cluster: string) => ({
  name: principalOf({ kind: "cluster-secret", cluster: clusterId(cluster) }),
});
export const submitsTo = (cluster: string) => ({
  name: principalOf({ kind: "cluster-token", cluster: clusterId(cluster) }),
});

/** Throws unless the secret is the cluster's: a cluster that is not there is denied alike. */
export async function checkSecret(
  operations: Pick<RainbowOperations, "checkCredential">,
  { cluster, secret }: ClusterSpeaker,
): Promise<void> {
  const isValid = await operations.checkCredential({ kind: "cluster-secret", cluster }, secret);
  if (!isValid) throw refuse.denied();
}

export async function checkRegisterSecret(
  operations: Pick<RainbowOperations, "checkCredential">,
  secret: string,
): Promise<void> {
  const isValid = secret !== "" && (await operations.checkCredential({ kind: "register" }, secret));
  if (!isValid) throw refuse.denied();
}

const REGISTRAR = { name: principalOf({ kind: "register" }) } as const;

/** A long one is read, and refused, elsewhere in one go: then in our words instead of rainbow's. */
const ownGraph = (text: string): unknown =>
  text.length > limits.graphInlineBytesMax ? text : readClusterNodes(text);

/** A new cluster with all that belongs to it, or nothing. One that is there keeps its credentials. */
export async function register(
  operations: RainbowOperations,
  { name, secret, nodes, subsystem }: RegisterRequest,
): Promise<RegisterAnswer> {
  await checkRegisterSecret(operations, secret);
  if (nodes === "") throw refuse.noNodes();
  const graph = nodes === undefined ? nameAlone() : ownGraph(nodes);
  if (subsystem !== "" && subsystem !== "cluster") throw refuse.unknownDominant(subsystem);
  try {
    const { credentials } = await operations.registerCluster(REGISTRAR, {
      name,
      graph,
      withCredentials: true,
    });
    const { token = "", secret: own = "" } = credentials ?? {};
    return { status: REGISTER.SUCCESS, token, secret: own };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "already_exists") throw error;
    return { status: REGISTER.EXISTS, token: "", secret: "" };
  }
}

/** Only the graph, as the memory backend takes it: for who may register. */
export async function registerGraph(
  operations: RainbowOperations,
  { name, payload, secret }: { readonly name: string; readonly payload: string; secret: string },
): Promise<void> {
  await checkRegisterSecret(operations, secret);
  const graph = ownGraph(payload);
  try {
    await operations.registerCluster(REGISTRAR, { name, graph });
  } catch (error) {
    if (error instanceof AppError && error.code === "already_exists")
      throw refuse.graphExists(name);
    throw error;
  }
}

export async function registerSubsystem(
  operations: RainbowOperations,
  { name: cluster, secret, nodes = "", subsystem }: RegisterRequest,
): Promise<RegisterAnswer> {
  if (cluster === "" || secret === "" || nodes === "" || subsystem === "") {
    throw refuse.incompleteSubsystem();
  }
  await checkSecret(operations, { cluster, secret });
  const document = nodes.length > limits.graphInlineBytesMax ? nodes : readNodes(nodes);
  const { subsystems } = await operations.getCluster(cluster);
  if (subsystem === "cluster" || subsystems.some(({ name }) => name === subsystem)) {
    throw refuse.subsystemExists(subsystem, cluster);
  }
  await operations.addSubsystem(speaksFor(cluster), { cluster, name: subsystem, document });
  return { status: REGISTER.SUCCESS, token: "", secret: "" };
}

export async function updateState(
  operations: RainbowOperations,
  { cluster, secret, payload }: ClusterSpeaker & { readonly payload: string },
): Promise<void> {
  if (cluster === "" || secret === "" || payload === "") throw refuse.incompleteState();
  await checkSecret(operations, { cluster, secret });
  const values = readState(payload);
  if (values === undefined) return;
  await operations.setClusterState(speaksFor(cluster), { cluster, values });
}

/** What was submitted to it through this door ends with it: the next of its name is another one. */
export async function deleteCluster(
  operations: RainbowOperations,
  { cluster, secret }: ClusterSpeaker,
): Promise<void> {
  if (cluster === "" || secret === "") throw refuse.incompleteDelete();
  await checkSecret(operations, { cluster, secret });
  const { tasks } = await operations.listOffered(cluster, limits.receivedJobsMax);
  await operations.deleteCluster(speaksFor(cluster), cluster);
  for (const { id, spec } of tasks) {
    if (spec.jobspec === undefined) continue;
    const { submittedBy } = await operations.getJob(id);
    if (submittedBy !== submitsTo(cluster).name) continue;
    await operations.cancelJob(speaksFor(cluster), id, `cluster ${cluster} was deleted`);
  }
}

/** What the cluster itself has is no subsystem: without it nothing would match any more. */
export async function deleteSubsystem(
  operations: RainbowOperations,
  { cluster, secret, subsystem }: ClusterSpeaker & { readonly subsystem: string },
): Promise<void> {
  if (cluster === "" || secret === "") throw refuse.incompleteDelete();
  await checkSecret(operations, { cluster, secret });
  if (subsystem === "cluster") throw refuse.dominantSubsystem(cluster);
  const { subsystems } = await operations.getCluster(cluster);
  if (!subsystems.some(({ name }) => name === subsystem)) {
    throw refuse.noSubsystem(subsystem, cluster);
  }
  await operations.removeSubsystem(speaksFor(cluster), { cluster, name: subsystem });
}
