// SPDX-License-Identifier: BSD-3-Clause
// The call tree with callers below: each function with its exclusive time, below it its callers, each as wide as the part of that time
// that came through it.
import { NONE, PairMap, arranged, emptyPaths } from "./paths";
import { Tree } from "./tree";

const MAX_ROWS = 200_000; // as many as the server sends of a call tree
const MAX_STEPS = 4_000_000; // steps from a call to its caller; deep recursion needs many

/** For each row with exclusive time, the number + 1 of the row of the function; then of its callers. The paths with the least time are
 * combined below their functions if there are too many. */
class Inverted {
  readonly numbers = new PairMap();
  readonly ends: Uint32Array; // for each row of the tree the number + 1 of its outermost caller's row
  readonly hidden = new Map<number, number>(); // paths that a row combines
  private steps = 0;

  constructor(
    private readonly tree: Tree,
    rows: Uint32Array,
    private readonly limits: { rows: number; steps: number },
  ) {
    this.ends = new Uint32Array(tree.count);
    for (const row of rows) this.ends[row] = this.place(row);
  }

  private place(row: number): number {
    const { region, parent, hidden } = this.tree;
    let at = this.numbers.add(0, region[row]!) + 1;
    if (region[row] === NONE) return this.combine(at, hidden[row]!);
    if (parent[row] === NONE) return at;
    if (this.numbers.size >= this.limits.rows || this.steps >= this.limits.steps) return this.combine(this.numbers.add(at, NONE) + 1, 1);
    for (let up = parent[row]!; up !== NONE; up = parent[up]!, this.steps++) at = this.numbers.add(at, region[up]!) + 1;
    return at;
  }

  private combine(at: number, paths: number): number {
    this.hidden.set(at, (this.hidden.get(at) ?? 0) + paths);
    return at;
  }
}

const made = new WeakMap<Tree, Tree>();

/** invert(), once for each tree. */
export function inverted(tree: Tree): Tree {
  let known = made.get(tree);
  if (!known) made.set(tree, (known = invert(tree)));
  return known;
}

/** limits: for tests. */
export function invert(tree: Tree, limits: { rows: number; steps: number } = { rows: MAX_ROWS, steps: MAX_STEPS }): Tree {
  const timeOf = (row: number): number => Math.max(tree.excl[row]!, tree.base?.excl[row] ?? 0);
  const rows = Uint32Array.from(tree.excl.keys()).filter((row) => timeOf(row) > 0);
  rows.sort((a, b) => timeOf(b) - timeOf(a) || a - b);
  const { numbers, ends, hidden } = new Inverted(tree, rows, limits);
  const out = emptyPaths(numbers.size, { base: tree.base, running: tree.running });
  for (let at = 0; at < out.count; at++) {
    out.parent[at] = numbers.firstOf(at) ? numbers.firstOf(at) - 1 : NONE;
    out.region[at] = numbers.secondOf(at);
    out.hidden[at] = hidden.get(at + 1) ?? 0;
  }
  for (const row of rows) {
    const at = ends[row]! - 1;
    out.excl[at]! += tree.excl[row]!;
    if (tree.running) out.running![at]! += tree.ranItself(row);
    if (tree.base) out.base!.excl[at]! += tree.base.excl[row]!;
  }
  out.incl.set(out.excl);
  out.base?.incl.set(out.base.excl);
  for (const sum of [out.incl, out.base?.incl, out.running])
    for (let at = out.count - 1; sum && at >= 0; at--) if (out.parent[at] !== NONE) sum[out.parent[at]!]! += sum[at]!;
  return new Tree(arranged(out), { base_none: tree.baseNone, paths: out.count }, tree.weight);
}
