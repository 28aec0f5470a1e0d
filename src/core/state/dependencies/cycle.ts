/** Nodes 0 to count - 1; `next` returns the dependencies of each. */
export interface DependencyGraph {
  readonly count: number;
  readonly next: (node: number) => readonly number[];
}

/** The nodes of one cycle in order, with the first one again at the end; undefined: there is none. */
export function findCycle({ count, next }: DependencyGraph): number[] | undefined {
  const isDone = new Uint8Array(count);
  const isOnPath = new Uint8Array(count);
  // An explicit stack, because a chain may be longer than the call stack is deep.
  const path: { readonly node: number; readonly others: readonly number[]; at: number }[] = [];
  const enter = (node: number): void => {
    isOnPath[node] = 1;
    path.push({ node, others: next(node), at: 0 });
  };
  for (let start = 0; start < count; start++) {
    if (isDone[start] === 0) enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const other = top.others[top.at++];
      if (other === undefined) {
        path.pop();
        isOnPath[top.node] = 0;
        isDone[top.node] = 1;
      } else if (isOnPath[other] === 1) {
        const from = path.findIndex(({ node }) => node === other);
        return [...path.slice(from).map(({ node }) => node), other];
      } else if (isDone[other] === 0) {
        enter(other);
      }
    }
  }
  return undefined;
}
