import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { AnswerDelivery } from "../../server/operations/operations.ts";
import type { RegisterRequest } from "./wire/decode.ts";
import { nameAlone, readClusterNodes, readNodes, readState } from "./wire/documents.ts";
import { REGISTER, type RegisterAnswer } from "./wire/encode.ts";
import { asCluster, asRegistrar, type ClusterSpeaker, type RainbowAccess } from "./operations.ts";
import { refuse } from "./status.ts";

/** Another thread reads and rejects a long document in one go: then in our words instead of rainbow's. */
const ownGraph = (text: string): unknown =>
  text.length > limits.graphInlineBytesMax ? text : readClusterNodes(text);

/**
 * Registers a new cluster with all its parts, or nothing. A registered cluster keeps its credentials, unless no client can have received
 * them.
 */
export async function register(
  access: RainbowAccess,
  { name, secret, nodes, subsystem }: RegisterRequest,
  delivery: AnswerDelivery,
): Promise<RegisterAnswer> {
  const operations = await asRegistrar(access, secret);
  if (nodes === "") throw refuse.noNodes();
  const graph = nodes === undefined ? nameAlone() : ownGraph(nodes);
  if (subsystem !== "" && subsystem !== "cluster") throw refuse.unknownDominant(subsystem);
  try {
    const { credentials, globalToken } = await operations.registerCluster({
      name,
      graph,
      withCredentials: true,
      delivery,
    });
    const { token = "", secret: own = "" } = credentials ?? {};
    return { status: REGISTER.SUCCESS, token: globalToken ?? token, secret: own };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "already_exists") throw error;
    return { status: REGISTER.EXISTS, token: "", secret: "" };
  }
}

/** Only the graph, as the memory backend accepts it: for clients that may register. */
export async function registerGraph(
  access: RainbowAccess,
  { name, payload, secret }: { readonly name: string; readonly payload: string; secret: string },
): Promise<void> {
  const operations = await asRegistrar(access, secret);
  const graph = ownGraph(payload);
  try {
    await operations.registerCluster({ name, graph });
  } catch (error) {
    if (error instanceof AppError && error.code === "already_exists")
      throw refuse.graphExists(name);
    throw error;
  }
}

export async function registerSubsystem(
  access: RainbowAccess,
  { name: cluster, secret, nodes = "", subsystem }: RegisterRequest,
): Promise<RegisterAnswer> {
  if (cluster === "" || secret === "" || nodes === "" || subsystem === "") {
    throw refuse.incompleteSubsystem();
  }
  const operations = await asCluster(access, { cluster, secret });
  const document = nodes.length > limits.graphInlineBytesMax ? nodes : readNodes(nodes);
  const { subsystems } = await operations.getCluster(cluster);
  if (subsystem === "cluster" || subsystems.some(({ name }) => name === subsystem)) {
    throw refuse.subsystemExists(subsystem, cluster);
  }
  await operations.addSubsystem({ cluster, name: subsystem, document });
  return { status: REGISTER.SUCCESS, token: "", secret: "" };
}

export async function updateState(
  access: RainbowAccess,
  { cluster, secret, payload }: ClusterSpeaker & { readonly payload: string },
): Promise<void> {
  if (cluster === "" || secret === "" || payload === "") throw refuse.incompleteState();
  const operations = await asCluster(access, { cluster, secret });
  const values = readState(payload);
  if (values === undefined) return;
  await operations.setClusterState({ cluster, values });
}

export async function deleteCluster(
  access: RainbowAccess,
  { cluster, secret }: ClusterSpeaker,
): Promise<void> {
  if (cluster === "" || secret === "") throw refuse.incompleteDelete();
  const operations = await asCluster(access, { cluster, secret });
  await operations.deleteCluster(cluster);
}

/** The cluster's own resources are no subsystem: without them nothing would match any more. */
export async function deleteSubsystem(
  access: RainbowAccess,
  { cluster, secret, subsystem }: ClusterSpeaker & { readonly subsystem: string },
): Promise<void> {
  if (cluster === "" || secret === "") throw refuse.incompleteDelete();
  const operations = await asCluster(access, { cluster, secret });
  if (subsystem === "cluster") throw refuse.dominantSubsystem(cluster);
  const { subsystems } = await operations.getCluster(cluster);
  if (!subsystems.some(({ name }) => name === subsystem)) {
    throw refuse.noSubsystem(subsystem, cluster);
  }
  await operations.removeSubsystem({ cluster, name: subsystem });
}
