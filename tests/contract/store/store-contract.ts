import { describeCommits, describeFailures, describeRevisions } from "./commit-contract.ts";
import { describeClose, describeLoad } from "./load-contract.ts";
import { describeAnyUse } from "./model-contract.ts";
import type { StoreContract } from "./store-data.ts";

/** Repeats the guarantees of the port one by one. Every adapter runs it unchanged. */
export function describeStoreContract(contract: StoreContract): void {
  describeCommits(contract);
  describeRevisions(contract);
  describeFailures(contract);
  describeLoad(contract);
  describeClose(contract);
  describeAnyUse(contract);
}
