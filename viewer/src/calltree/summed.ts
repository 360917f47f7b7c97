// SPDX-License-Identifier: BSD-3-Clause
// The call trees of several processes or threads as one.
import { NONE, PairMap, arranged, emptyPaths } from "./paths";
import { Tree } from "./tree";

/** The sum of trees with the same weight, at least one. Small paths that the trees combine below the same caller stay combined. */
export function summed(trees: readonly Tree[]): Tree {
  const [first] = trees;
  const numbers = new PairMap();
  const places = trees.map((tree) => {
    const of = new Uint32Array(tree.count);
    for (let row = 0; row < tree.count; row++) of[row] = numbers.add(tree.parent[row] === NONE ? 0 : of[tree.parent[row]!]! + 1, tree.region[row]!);
    return of;
  });
  const some = <K extends "base" | "running" | "imported">(name: K): Tree[K] | undefined => trees.find((tree) => tree[name])?.[name];
  const out = emptyPaths(numbers.size, { base: some("base"), running: some("running"), imported: some("imported") });
  for (let at = 0; at < out.count; at++) {
    out.parent[at] = numbers.firstOf(at) ? numbers.firstOf(at) - 1 : NONE;
    out.region[at] = numbers.secondOf(at);
  }
  trees.forEach((tree, i) => {
    for (let row = 0; row < tree.count; row++) {
      const at = places[i]![row]!;
      for (const name of ["visits", "incl", "excl", "hidden"] as const) out[name][at]! += tree[name][row]!;
      if (tree.running) out.running![at]! += tree.running[row]!;
      if (tree.imported?.[row]) out.imported![at] = 1;
      if (tree.base) for (const name of ["visits", "incl", "excl"] as const) out.base![name][at]! += tree.base[name][row]!;
    }
  });
  let paths = 0;
  for (let at = 0; at < out.count; at++) paths += out.region[at] === NONE ? out.hidden[at]! : 1;
  return new Tree(arranged(out), { paths, base_none: first?.baseNone }, first?.weight);
}
