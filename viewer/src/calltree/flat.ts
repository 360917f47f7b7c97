// SPDX-License-Identifier: BSD-3-Clause
// The numbers of all functions, summed up from a call tree.
import { Flat } from "../data/flat";
import { NONE, ROOT_REGION } from "./paths";
import type { Tree } from "./tree";

/** Inclusive time is that of the outermost calls only, so recursion counts once. Small paths are combined in the tree: their functions are
 * not known, and their time is in the total alone. */
export function flatOfTree(tree: Tree): Flat {
  const at = new Map<number, number>(); // row of each region
  for (const region of tree.region) if (region !== NONE && region !== ROOT_REGION && !at.has(region)) at.set(region, at.size);
  const n = at.size;
  const column = (): Float64Array => new Float64Array(n);
  const [visits, incl, excl, running, waiting] = [column(), column(), column(), column(), column()];
  const base = tree.base && { visits: column(), incl: column(), excl: column() };
  const until = new Uint32Array(n); // the row after the outermost call
  let total = 0;
  for (let row = 0; row < tree.count; row++) {
    total += tree.excl[row]!;
    const to = at.get(tree.region[row]!);
    if (to === undefined) continue;
    visits[to]! += tree.visits[row]!;
    excl[to]! += tree.excl[row]!;
    if (tree.running) running[to]! += tree.ranItself(row);
    if (base) base.visits[to]! += tree.base!.visits[row]!;
    if (base) base.excl[to]! += tree.base!.excl[row]!;
    if (row < until[to]!) continue;
    until[to] = tree.end[row]!;
    incl[to]! += tree.incl[row]!;
    if (base) base.incl[to]! += tree.base!.incl[row]!;
  }
  for (let to = 0; to < n; to++) waiting[to] = Math.max(excl[to]! - running[to]!, 0);
  return new Flat({
    region: Uint32Array.from(at.keys()),
    visits,
    incl,
    excl,
    each: undefined,
    running: tree.running && running,
    waiting: tree.running && waiting,
    imported: undefined,
    resumed: undefined,
    base,
    metrics: [],
    unranged: [],
    functions: n,
    total,
    baseNone: tree.baseNone,
  });
}
