// SPDX-License-Identifier: BSD-3-Clause
// The call tree of a range of time beside that of another range of the same run.
import { NONE, type Paths, arranged, emptyPaths } from "./paths";

/** A tree whose rows have the indices of their paths in the run; NONE: a sum of small paths. */
export type Numbered = Paths & { readonly ids: Uint32Array };

/** The first tree with the numbers of the other one as those of the base; paths of the other one alone are added. A path that one of them
 * combines with other small ones counts there for that sum. */
export function besides(tree: Numbered, other: Numbered): Paths {
  const rows = new Map<number, number>(); // the row of each path
  const small = new Map<number, number>(); // the row of the small paths below each row
  tree.ids.forEach((id, row) => (id === NONE ? small.set(tree.parent[row]!, row) : rows.set(id, row)));
  const to = new Uint32Array(other.count);
  const added: number[] = []; // rows of the other tree
  for (let row = 0; row < other.count; row++) {
    const up = other.parent[row] === NONE ? NONE : to[other.parent[row]!]!;
    const [known, key] = other.ids[row] === NONE ? ([small, up] as const) : ([rows, other.ids[row]!] as const);
    let at = known.get(key);
    if (at === undefined) known.set(key, (at = tree.count + added.push(row) - 1));
    to[row] = at;
  }
  const imported = tree.imported ?? other.imported;
  const out = emptyPaths(tree.count + added.length, { base: tree, imported });
  if (tree.imported) out.imported!.set(tree.imported);
  for (const name of ["parent", "region", "visits", "incl", "excl", "hidden"] as const) out[name].set(tree[name]);
  added.forEach((row, i) => {
    const at = tree.count + i;
    out.parent[at] = other.parent[row] === NONE ? NONE : to[other.parent[row]!]!;
    out.region[at] = other.region[row]!;
    out.hidden[at] = other.hidden[row]!;
    if (other.imported) out.imported![at] = other.imported[row]!;
  });
  for (let row = 0; row < other.count; row++) for (const name of ["visits", "incl", "excl"] as const) out.base![name][to[row]!]! += other[name][row]!;
  return arranged(out);
}
