// SPDX-License-Identifier: BSD-3-Clause
// Call trees of which parts are left out or combined. Times stay exact: what is left out counts for nobody, what is combined with a caller
// counts for it.
import { NONE, PairMap, type Paths, ROOT_REGION, arranged, emptyPaths } from "./paths";

export interface Filters {
  /** "own": the numbers of other code count for the own function that led to it. "entries": those of other code count for the function of
   * other code that own code called. undefined: all code is shown. */
  code?: "own" | "entries" | undefined;
  /** Imports are left out. */
  noImports?: boolean | undefined;
  /** A call of a function within itself counts for the outer call. */
  foldRecursion?: boolean | undefined;
  /** 1 for each region: only call paths with such a region are shown. Their callers are shown without exclusive time. */
  only?: ArrayLike<number> | undefined;
  /** Call paths with a smaller fraction of the time are combined. */
  least?: number | undefined;
}

export const SHOWN = 1; // a row of which only callees count
export const COUNTED = 2;

/** For each row 0: left out, SHOWN or COUNTED. */
export function keptRows(tree: Paths, { noImports, only }: Filters): Uint8Array {
  const { count, region, parent } = tree;
  const kept = new Uint8Array(count).fill(COUNTED);
  if (only) {
    for (let row = 0; row < count; row++) {
      const within = parent[row] !== NONE && kept[parent[row]!] === COUNTED;
      if (!within && !(region[row] !== NONE && only[region[row]!])) kept[row] = 0;
    }
    for (let row = count - 1; row >= 0; row--) if (kept[row] && parent[row] !== NONE && !kept[parent[row]!]) kept[parent[row]!] = SHOWN;
  }
  if (noImports && tree.imported) for (let row = 0; row < count; row++) if (tree.imported[row]) kept[row] = 0;
  return kept;
}

/** Adds the rows of a tree to others. of: for each row the number + 1 of a pair (number + 1 of its caller, region); 0: left out, or above
 * the outermost calls. kept: as keptRows(). */
function combined(tree: Paths, of: Uint32Array, numbers: PairMap, kept: Uint8Array, isItself: (row: number, at: number) => boolean): Paths {
  const out = emptyPaths(numbers.size, { base: tree.base, running: tree.running });
  for (let at = 0; at < out.count; at++) {
    out.parent[at] = numbers.firstOf(at) ? numbers.firstOf(at) - 1 : NONE;
    out.region[at] = numbers.secondOf(at);
  }
  const ran = tree.running?.slice(); // of each row without its callees
  for (let row = 0; ran && row < tree.count; row++) if (tree.parent[row] !== NONE) ran[tree.parent[row]!]! -= tree.running![row]!;
  for (let row = 0; row < tree.count; row++) {
    if (!kept[row]) continue;
    const at = of[row]! - 1;
    const itself = isItself(row, at);
    out.hidden[at]! += out.region[at] === NONE && tree.region[row] !== NONE ? 1 : tree.hidden[row]!;
    if (itself) out.visits[at]! += tree.visits[row]!;
    if (itself && tree.base) out.base!.visits[at]! += tree.base.visits[row]!;
    if (kept[row] !== COUNTED) continue;
    out.excl[at]! += tree.excl[row]!;
    if (ran) out.running![at]! += ran[row]!;
    if (tree.base) out.base!.excl[at]! += tree.base.excl[row]!;
  }
  out.incl.set(out.excl);
  out.base?.incl.set(out.base.excl);
  for (const sum of [out.incl, out.base?.incl, out.running])
    for (let at = out.count - 1; sum && at >= 0; at--) if (out.parent[at] !== NONE) sum[out.parent[at]!]! += sum[at]!;
  return out;
}

/** own: 1 for each region of own code. of: for each row of the tree the number + 1 of the row that has its time, 0: none. */
function folded(tree: Paths, own: ArrayLike<number>, filters: Filters): { paths: Paths; of: Uint32Array } {
  const { code, foldRecursion } = filters;
  const kept = PAGE ? keptRows(tree, filters) : new Uint8Array(tree.count).fill(COUNTED);
  const numbers = new PairMap();
  const of = new Uint32Array(tree.count);
  const isOther = (region: number): boolean => region !== NONE && own[region] !== 1;
  const outer = (at: number, region: number): number => {
    while (at && numbers.secondOf(at - 1) !== region) at = numbers.firstOf(at - 1);
    return at;
  };
  const place = (region: number, up: number): number => {
    // the root's row may be the caller of nothing: an own function that other code started is an outermost one
    const caller = up && numbers.secondOf(up - 1) === ROOT_REGION ? 0 : up;
    if (code === "own" && isOther(region)) return caller ? up : numbers.add(0, ROOT_REGION) + 1;
    if (PAGE && code === "entries" && isOther(region) && up && isOther(numbers.secondOf(up - 1))) return up;
    return (PAGE && foldRecursion && region !== NONE && outer(caller, region)) || numbers.add(caller, region) + 1;
  };
  for (let row = 0; row < tree.count; row++) {
    const up = tree.parent[row] === NONE ? 0 : of[tree.parent[row]!]!;
    of[row] = kept[row] ? place(tree.region[row]!, up) : up;
  }
  return { paths: combined(tree, of, numbers, kept, (row, at) => numbers.secondOf(at) === tree.region[row]), of };
}

/** 1 for each row with a smaller fraction of the time than `least`. */
function smallIn(tree: Paths, least: number): Uint8Array {
  const timeOf = (row: number): number => Math.max(tree.incl[row]!, tree.base?.incl[row] ?? 0);
  let total = 0;
  for (let row = 0; row < tree.count; row++) if (tree.parent[row] === NONE) total += timeOf(row);
  return Uint8Array.from({ length: tree.count }, (_, row) => (timeOf(row) < least * total ? 1 : 0));
}

/** Combines what has a smaller fraction of the time than `least`, below each caller. */
function withoutSmall(tree: Paths, least: number): Paths {
  const small = smallIn(tree, least);
  const numbers = new PairMap();
  const of = new Uint32Array(tree.count);
  for (let row = 0; row < tree.count; row++) {
    const up = tree.parent[row] === NONE ? 0 : of[tree.parent[row]!]!;
    if (up && numbers.secondOf(up - 1) === NONE) of[row] = up;
    else of[row] = numbers.add(up, small[row] ? NONE : tree.region[row]!) + 1;
  }
  // the calls of a row of small paths are those from its caller
  const isCalled = (row: number, at: number): boolean => tree.parent[row] === NONE || of[tree.parent[row]!]! - 1 !== at;
  return combined(tree, of, numbers, new Uint8Array(tree.count).fill(COUNTED), isCalled);
}

/** own: 1 for each region of own code. With code "own", what no own function led to is a row of the root's region. */
export function filteredPaths(tree: Paths, own: ArrayLike<number>, filters: Filters): Paths {
  const { paths } = folded(tree, own, filters);
  return arranged(PAGE && filters.least ? withoutSmall(paths, filters.least) : paths);
}

/** 1 for each row of the tree that the filters combine with others, as it has little time; undefined: they combine none. */
export function smallRows(tree: Paths, own: ArrayLike<number>, filters: Filters): Uint8Array | undefined {
  if (!filters.least) return undefined;
  const { paths, of } = folded(tree, own, filters);
  const small = smallIn(paths, filters.least);
  return Uint8Array.from(of, (at) => (at ? small[at - 1]! : 0));
}
