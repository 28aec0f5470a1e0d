import type { LoopTimes } from "../../loop/loop-metrics.ts";
import type { NodeStateName } from "../../../core/model/node/node.ts";
import type {
  ClusterView,
  GroupView,
  IssuedCredentialsView,
  NodeSettings,
  NodeView,
  StatsView,
} from "../../views/views.ts";
import type {
  ClusterInput,
  ChangeCondition,
  CredentialsInput,
  GroupSettings,
  Page,
  SubsystemRef,
} from "../operations.ts";

/** What those ask for who look after nodes, clusters, groups and the server. */
export interface OperatorOperations {
  listNodes(
    filter: { readonly cluster?: string | undefined; readonly state?: NodeStateName | undefined },
    page: Page,
  ): Promise<{
    readonly nodes: readonly NodeView[];
    readonly nextPageToken?: string;
    readonly revision: number;
  }>;
  getNode(name: string): Promise<NodeView>;
  drainNode(name: string, reason: string, condition?: ChangeCondition): Promise<NodeView>;
  undrainNode(name: string, condition?: ChangeCondition): Promise<NodeView>;
  /** What becomes of its tasks when it is lost. What is absent stays as it is. */
  setNode(name: string, set: NodeSettings & ChangeCondition): Promise<NodeView>;
  removeNode(name: string, condition?: ChangeCondition): Promise<{ readonly revision: number }>;
  listClusters(): Promise<{ readonly clusters: readonly ClusterView[]; readonly revision: number }>;
  getCluster(name: string): Promise<ClusterView>;
  /**
   * A cluster that pulls, or with `isUpdate` another graph for one that is there. With `delivery`, a
   * caller that never got the answer may register it again; it also gets the global token, if there is one.
   */
  registerCluster(cluster: ClusterInput): Promise<{
    readonly cluster: ClusterView;
    readonly credentials?: IssuedCredentialsView;
    readonly globalToken?: string;
  }>;
  /** A cluster with agents only when it has no nodes any more. */
  deleteCluster(name: string, condition?: ChangeCondition): Promise<{ readonly revision: number }>;
  /** The text of a JSON Graph Format document. */
  getClusterGraph(name: string): Promise<string>;
  /** The text of a JSON Graph Format document. */
  getSubsystem(which: SubsystemRef): Promise<string>;
  /** Since when the server has them; absent: it has none. */
  getServerCredentials(): Promise<{
    readonly registerSinceMs?: number;
    readonly globalTokenSinceMs?: number;
  }>;
  /** New ones in the place of the old, which are refused from then on. */
  rotateCredentials(
    cluster: string,
    which: { readonly secret: boolean; readonly token: boolean },
  ): Promise<{ readonly credentials: IssuedCredentialsView; readonly revision: number }>;
  /** All or none; those that are the same already stay as they are. */
  setCredentials(credentials: CredentialsInput): Promise<{ readonly revision: number }>;
  listGroups(): Promise<{ readonly groups: readonly GroupView[]; readonly revision: number }>;
  /** Limits of 0 mean none. What is absent stays as it is. */
  putGroup(group: GroupSettings): Promise<GroupView>;
  removeGroup(name: string, condition?: ChangeCondition): Promise<{ readonly revision: number }>;
  stats(): Promise<StatsView>;
  /** Measured since the start, without waiting for anything to become durable. */
  times(): Promise<LoopTimes>;
  /** Whether commands are taken: false while starting, stopping or broken. */
  isReady(): boolean;
  /** The bytes of a copy of all data; one at a time. */
  backup(): AsyncIterable<{ readonly data: Uint8Array }>;
}
