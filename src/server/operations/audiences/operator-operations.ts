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

/** Operations for operators: nodes, clusters, groups and the server. */
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
  /** Sets what happens to the tasks of a lost node. Absent fields stay. */
  setNode(name: string, set: NodeSettings & ChangeCondition): Promise<NodeView>;
  removeNode(name: string, condition?: ChangeCondition): Promise<{ readonly revision: number }>;
  listClusters(): Promise<{ readonly clusters: readonly ClusterView[]; readonly revision: number }>;
  getCluster(name: string): Promise<ClusterView>;
  /**
   * Registers a pull cluster, or with `isUpdate` replaces the graph of an existing one. With `delivery`, a
   * caller that never received the answer may register again; the answer then also has the global token, if any.
   */
  registerCluster(cluster: ClusterInput): Promise<{
    readonly cluster: ClusterView;
    readonly credentials?: IssuedCredentialsView;
    readonly globalToken?: string;
  }>;
  /** Deletes a managed cluster only when it has no nodes left. */
  deleteCluster(name: string, condition?: ChangeCondition): Promise<{ readonly revision: number }>;
  /** The text of a JSON Graph Format document. */
  getClusterGraph(name: string): Promise<string>;
  /** The text of a JSON Graph Format document. */
  getSubsystem(which: SubsystemRef): Promise<string>;
  /** Since when the server has each credential; absent: it has none. */
  getServerCredentials(): Promise<{
    readonly registerSinceMs?: number;
    readonly globalTokenSinceMs?: number;
  }>;
  /** Replaces credentials; the old ones are invalid from then on. */
  rotateCredentials(
    cluster: string,
    which: { readonly secret: boolean; readonly token: boolean },
  ): Promise<{ readonly credentials: IssuedCredentialsView; readonly revision: number }>;
  /** Sets all or none; equal ones stay as they are. */
  setCredentials(credentials: CredentialsInput): Promise<{ readonly revision: number }>;
  listGroups(): Promise<{ readonly groups: readonly GroupView[]; readonly revision: number }>;
  /** A limit of 0 means none. Absent fields stay. */
  putGroup(group: GroupSettings): Promise<GroupView>;
  removeGroup(name: string, condition?: ChangeCondition): Promise<{ readonly revision: number }>;
  stats(): Promise<StatsView>;
  /** Measured since the start, without waiting for anything to become durable. */
  times(): Promise<LoopTimes>;
  /** Whether the server accepts commands: false while it starts, stops or is broken. */
  isReady(): boolean;
  /** The bytes of a copy of all data; one at a time. */
  backup(): AsyncIterable<{ readonly data: Uint8Array }>;
}
