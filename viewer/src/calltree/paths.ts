// SPDX-License-Identifier: BSD-3-Clause
// Types and functions for call trees in columns. Each path is a row, parents come before their children, and each subtree is contiguous. So
// the rows below row i are those from i + 1 to before end[i].

import { NONE } from "../data/columns";

export { NONE };
/** The pseudo function that calls the outermost functions. */
export const ROOT_REGION = 0;

/** A call tree; times in seconds. Region NONE: the sum of `hidden` small paths. */
export interface Paths {
  readonly count: number;
  readonly parent: Uint32Array;
  readonly region: Uint32Array;
  readonly visits: Float64Array;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  readonly hidden: Uint32Array;
  /** The part of incl in which the threads ran; undefined: not known. */
  readonly running?: Float64Array | undefined;
  /** 1 for each row that is part of an import; undefined: none is. */
  readonly imported?: Uint8Array | undefined;
  /** In the other run, or in the other range of time, if there is one. */
  readonly base?: Base | undefined;
}

export interface Base {
  readonly visits: Float64Array;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
}

/** The same tree with the numbers of the other run. */
export function basePaths(paths: Paths): Paths | undefined {
  const { count, parent, region, hidden, base } = paths;
  return base && { count, parent, region, hidden, ...base };
}

/** For each row the first row after its subtree. */
export function subtreeEnds(paths: Paths): Uint32Array {
  const end = new Uint32Array(paths.count);
  for (let i = paths.count - 1; i >= 0; i--) {
    if (end[i] === 0) end[i] = i + 1;
    const up = paths.parent[i]!;
    if (up !== NONE && end[up]! < end[i]!) end[up] = end[i]!;
  }
  return end;
}

/** The region that called a row; the root's region if the tree has no row for the caller. */
export function callerOf(paths: Paths, row: number): number {
  const up = paths.parent[row]!;
  return up === NONE ? ROOT_REGION : paths.region[up]!;
}

/** Whether a row is a call: neither the root nor a sum of small paths. */
export function isCall(paths: Paths, row: number): boolean {
  const region = paths.region[row]!;
  return region !== NONE && region !== ROOT_REGION;
}

/** Assigns consecutive numbers to pairs of numbers. Flat arrays need about one hundredth of the time of an object for each pair. */
export class PairMap {
  size = 0;
  private first: Uint32Array;
  private second: Uint32Array;
  private slots: Int32Array;

  constructor(room = 1024) {
    let slots = 16;
    while (slots < room * 2) slots *= 2;
    this.first = new Uint32Array(slots / 2);
    this.second = new Uint32Array(slots / 2);
    this.slots = new Int32Array(slots);
  }

  private slot(a: number, b: number): number {
    const mask = this.slots.length - 1;
    let at = Math.imul(Math.imul(a, 0x9e3779b1) ^ b, 0x85ebca6b);
    at = (at ^ (at >>> 15)) & mask;
    for (;;) {
      const found = this.slots[at]!;
      if (found === 0 || (this.first[found - 1] === a && this.second[found - 1] === b)) return at;
      at = (at + 1) & mask;
    }
  }

  private grow(): void {
    const first = new Uint32Array(this.first.length * 2);
    const second = new Uint32Array(first.length);
    first.set(this.first);
    second.set(this.second);
    this.first = first;
    this.second = second;
    this.slots = new Int32Array(first.length * 2);
    for (let i = 0; i < this.size; i++) this.slots[this.slot(first[i]!, second[i]!)] = i + 1;
  }

  /** The number of a pair, which is added if it is new. Both are below 2^32. */
  add(a: number, b: number): number {
    let at = this.slot(a, b);
    if (this.slots[at] === 0) {
      if (this.size === this.first.length) {
        this.grow();
        at = this.slot(a, b);
      }
      this.first[this.size] = a;
      this.second[this.size] = b;
      this.slots[at] = ++this.size;
    }
    return this.slots[at]! - 1;
  }

  firstOf(number: number): number {
    return this.first[number]!;
  }

  secondOf(number: number): number {
    return this.second[number]!;
  }
}

/** Sorts numbers by a key in descending order; equal ones by the numbers themselves. */
export function sortedBy(ids: Uint32Array, key: ArrayLike<number>): Uint32Array {
  return ids.sort((a, b) => key[b]! - key[a]! || a - b);
}

/** The tree with siblings in descending order of inclusive time, sums of small paths last. The rows of the given tree may have any order
 * with parents before children. */
export function arranged(tree: Paths): Paths {
  const n = tree.count;
  const first = new Uint32Array(n + 1); // first child of row i in the new order; rows without parent have index n
  for (let i = 0; i < n; i++) {
    const up = tree.parent[i] === NONE ? n : tree.parent[i]!;
    first[up]!++;
  }
  for (let i = 0, sum = 0; i <= n; i++) {
    sum += first[i]!;
    first[i] = sum;
  }
  const children = new Uint32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    const up = tree.parent[i] === NONE ? n : tree.parent[i]!;
    children[--first[up]!] = i;
  }
  const key = Float64Array.from(tree.incl, (v, i) => (tree.region[i] === NONE ? -1 : v));
  const out = emptyPaths(n, tree);
  const number = new Uint32Array(n); // new index of each row
  const stack: number[] = [];
  const push = (row: number): void => {
    const end = row === n ? n : row + 1 <= n ? first[row + 1]! : n;
    const below = sortedBy(children.subarray(first[row]!, row === n ? n : end), key);
    for (let k = below.length - 1; k >= 0; k--) stack.push(below[k]!);
  };
  push(n);
  for (let at = 0; stack.length; at++) {
    const row = stack.pop()!;
    number[row] = at;
    out.parent[at] = tree.parent[row] === NONE ? NONE : number[tree.parent[row]!]!;
    copyRow(out, at, tree, row);
    push(row);
  }
  return out;
}

/** like: which numbers the rows have. */
export function emptyPaths(n: number, like: Pick<Paths, "base" | "running" | "imported"> = {}): Paths {
  return {
    running: like.running && new Float64Array(n),
    imported: like.imported && new Uint8Array(n),
    base: like.base ? { visits: new Float64Array(n), incl: new Float64Array(n), excl: new Float64Array(n) } : undefined,
    count: n,
    parent: new Uint32Array(n).fill(NONE),
    region: new Uint32Array(n),
    visits: new Float64Array(n),
    incl: new Float64Array(n),
    excl: new Float64Array(n),
    hidden: new Uint32Array(n),
  };
}

function copyRow(to: Paths, at: number, from: Paths, row: number): void {
  to.region[at] = from.region[row]!;
  to.visits[at] = from.visits[row]!;
  to.incl[at] = from.incl[row]!;
  to.excl[at] = from.excl[row]!;
  to.hidden[at] = from.hidden[row]!;
  if (to.running) to.running[at] = from.running![row]!;
  if (to.imported) to.imported[at] = from.imported![row]!;
  if (!to.base || !from.base) return;
  to.base.visits[at] = from.base.visits[row]!;
  to.base.incl[at] = from.base.incl[row]!;
  to.base.excl[at] = from.base.excl[row]!;
}

/** The first n rows. */
export function firstRows(tree: Paths, n: number): Paths {
  return {
    count: n,
    parent: tree.parent.subarray(0, n),
    region: tree.region.subarray(0, n),
    visits: tree.visits.subarray(0, n),
    incl: tree.incl.subarray(0, n),
    excl: tree.excl.subarray(0, n),
    hidden: tree.hidden.subarray(0, n),
    running: tree.running?.subarray(0, n),
    base: tree.base && { visits: tree.base.visits.subarray(0, n), incl: tree.base.incl.subarray(0, n), excl: tree.base.excl.subarray(0, n) },
  };
}
