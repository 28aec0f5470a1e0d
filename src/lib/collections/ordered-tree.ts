import { invariant } from "../invariant.ts";

/** Counts the nodes that searches and changes of a tree touch. */
export interface TreeWork {
  treeSteps: number;
}

interface TreeNode<T> {
  item: T;
  /** Nodes with larger priorities are nearer to the root. */
  readonly rank: number;
  /** The smallest amount of each dimension in this subtree. */
  readonly least: number[];
  left: TreeNode<T> | undefined;
  right: TreeNode<T> | undefined;
}

/** The order of a tree, and the amounts that its searches compare. */
export interface TreeOrder<T> {
  /** A total order. It must not change for an item while the item is in the tree. */
  readonly before: (a: T, b: T) => boolean;
  /** The amounts that the item requests, always of the same length; undefined: none. */
  readonly amountsOf?: (item: T) => readonly number[];
}

/**
 * Items in order (a treap). `first` finds the first item whose amounts are all within a limit and
 * skips subtrees that request more, so that it does not visit every item that is too large.
 * Insertion, removal and a search with one dimension take logarithmic time.
 */
export class OrderedTree<T> {
  readonly #before: (a: T, b: T) => boolean;
  readonly #amountsOf: ((item: T) => readonly number[]) | undefined;
  readonly #work: TreeWork;
  #root: TreeNode<T> | undefined = undefined;
  #size = 0;
  #seed = 1;

  constructor({ before, amountsOf }: TreeOrder<T>, work: TreeWork = { treeSteps: 0 }) {
    this.#before = before;
    this.#amountsOf = amountsOf;
    this.#work = work;
  }

  get size(): number {
    return this.#size;
  }

  /** The smallest amount of each dimension over all items; empty when there are no items. */
  get least(): readonly number[] {
    return this.#root?.least ?? NONE;
  }

  /** The first item in order. */
  get min(): T | undefined {
    let at = this.#root;
    while (at?.left !== undefined) at = at.left;
    return at?.item;
  }

  insert(item: T): void {
    const least = this.#amountsOf === undefined ? [] : [...this.#amountsOf(item)];
    const node = { item, rank: this.#nextRank(), least, left: undefined, right: undefined };
    this.#root = this.#insert(this.#root, node);
    this.#size++;
  }

  /** The item must be in the tree. */
  remove(item: T): void {
    this.#root = this.#remove(this.#root, item);
    this.#size--;
  }

  /** Replaces an item by one that requests the same but may belong elsewhere in the order. */
  replace(before: T, after: T): void {
    if (this.#root?.item === before && this.#size === 1) {
      this.#root.item = after;
      return;
    }
    this.remove(before);
    this.insert(after);
  }

  /** The first item that `wants` accepts and that requests at most `within` of each dimension. */
  first(within: readonly number[], wants: (item: T) => boolean): T | undefined {
    return this.#first(this.#root, within, wants);
  }

  *[Symbol.iterator](): Iterator<T> {
    const above: TreeNode<T>[] = [];
    let at = this.#root;
    while (at !== undefined || above.length > 0) {
      while (at !== undefined) {
        above.push(at);
        at = at.left;
      }
      at = above.pop();
      if (at === undefined) return;
      yield at.item;
      at = at.right;
    }
  }

  #first(
    at: TreeNode<T> | undefined,
    within: readonly number[],
    wants: (item: T) => boolean,
  ): T | undefined {
    if (at === undefined) return undefined;
    this.#work.treeSteps++;
    if (!isWithin(at.least, within)) return undefined;
    const found = this.#first(at.left, within, wants);
    if (found !== undefined) return found;
    const own = this.#amountsOf?.(at.item) ?? NONE;
    if (isWithin(own, within) && wants(at.item)) return at.item;
    return this.#first(at.right, within, wants);
  }

  #insert(at: TreeNode<T> | undefined, node: TreeNode<T>): TreeNode<T> {
    if (at === undefined) return node;
    this.#work.treeSteps++;
    if (node.rank > at.rank) {
      [node.left, node.right] = this.#split(at, node.item);
      this.#update(node);
      return node;
    }
    if (this.#before(node.item, at.item)) at.left = this.#insert(at.left, node);
    else at.right = this.#insert(at.right, node);
    for (let dim = 0; dim < at.least.length; dim++) {
      at.least[dim] = Math.min(at.least[dim] ?? 0, node.least[dim] ?? 0);
    }
    return at;
  }

  #remove(at: TreeNode<T> | undefined, item: T): TreeNode<T> | undefined {
    invariant(at !== undefined, "what is removed from a tree is in it");
    this.#work.treeSteps++;
    if (at.item === item) return this.#merge(at.left, at.right);
    if (this.#before(item, at.item)) at.left = this.#remove(at.left, item);
    else at.right = this.#remove(at.right, item);
    this.#update(at);
    return at;
  }

  /** Splits a subtree: the items before `item`, and the others. */
  #split(at: TreeNode<T> | undefined, item: T): [TreeNode<T> | undefined, TreeNode<T> | undefined] {
    if (at === undefined) return [undefined, undefined];
    this.#work.treeSteps++;
    if (this.#before(at.item, item)) {
      const [left, right] = this.#split(at.right, item);
      at.right = left;
      this.#update(at);
      return [at, right];
    }
    const [left, right] = this.#split(at.left, item);
    at.left = right;
    this.#update(at);
    return [left, at];
  }

  #merge(left: TreeNode<T> | undefined, right: TreeNode<T> | undefined): TreeNode<T> | undefined {
    if (left === undefined || right === undefined) return left ?? right;
    this.#work.treeSteps++;
    if (left.rank > right.rank) {
      left.right = this.#merge(left.right, right);
      this.#update(left);
      return left;
    }
    right.left = this.#merge(left, right.left);
    this.#update(right);
    return right;
  }

  #update({ item, least, left, right }: TreeNode<T>): void {
    if (this.#amountsOf === undefined) return;
    const own = this.#amountsOf(item);
    for (let dim = 0; dim < least.length; dim++) {
      least[dim] = Math.min(
        own[dim] ?? 0,
        left?.least[dim] ?? Infinity,
        right?.least[dim] ?? Infinity,
      );
    }
  }

  /** Xorshift: the shape of the tree depends only on the number of insertions. */
  #nextRank(): number {
    let seed = this.#seed;
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    this.#seed = seed;
    return seed;
  }
}

const NONE: readonly number[] = [];

/** Whether each amount is at most its limit. */
export function isWithin(amounts: readonly number[], limit: readonly number[]): boolean {
  for (let dim = 0; dim < amounts.length; dim++) {
    if ((amounts[dim] ?? 0) > (limit[dim] ?? 0)) return false;
  }
  return true;
}
