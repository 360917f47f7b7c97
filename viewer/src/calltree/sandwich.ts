// SPDX-License-Identifier: BSD-3-Clause
// A function with its callers and callees. Recursive calls of the function are part of its outermost call: they add neither time nor call
// paths.
import { Lift, rowsOf, type RowSet } from "./lift";
import { NONE, PairMap, arranged, callerOf, emptyPaths, firstRows, subtreeEnds, type Paths } from "./paths";

/** The calls between the function and another one, as in Model.callers(). */
export interface Edge {
  readonly region: number; // the other function
  readonly visits: number;
  readonly incl: number;
  readonly excl: number;
  /** Inclusive time in the other run, if there is one. */
  readonly before: number | undefined;
}

export interface Sandwich {
  readonly region: number;
  readonly visits: number;
  readonly outermost: number; // visits without recursive calls
  readonly incl: number;
  readonly excl: number;
  /** In the other run. */
  readonly base: { visits: number; incl: number; excl: number } | undefined;
  readonly callers: Edge[]; // in descending order of inclusive time
  readonly callees: Edge[];
  /** The function in row 0, its callees below. */
  readonly down: Paths;
  /** The function in row 0, its callers below, up to the start of the program. */
  readonly up: Paths;
}

/** Call paths with a smaller fraction of the function's time are combined, as they are not visible. */
const MIN_PATH_SHARE = 1 / 5000;

function outermostRows(paths: Paths, region: number, end: Uint32Array): Uint32Array {
  const found: number[] = [];
  for (let i = 0; i < paths.count; ) {
    if (paths.region[i] === region) {
      found.push(i);
      i = end[i]!;
    } else i++;
  }
  return Uint32Array.from(found);
}

/** Sums edges. A row adds its inclusive time only if no row of the same edge is above it. */
class Edges {
  private readonly numbers = new Map<number, { visits: number; incl: number; excl: number; before: number; until: number }>();

  add(paths: Paths, row: number, other: number, end: Uint32Array): void {
    let at = this.numbers.get(other);
    if (!at) this.numbers.set(other, (at = { visits: 0, incl: 0, excl: 0, before: 0, until: 0 }));
    at.visits += paths.visits[row]!;
    at.excl += paths.excl[row]!;
    if (row >= at.until) {
      at.incl += paths.incl[row]!;
      at.before += paths.base?.incl[row] ?? 0;
      at.until = end[row]!;
    }
  }

  sorted(compared: boolean): Edge[] {
    return Array.from(this.numbers, ([region, { visits, incl, excl, before }]) => ({ region, visits, incl, excl, before: compared ? before : undefined })).sort(
      (a, b) => b.incl - a.incl || a.region - b.region,
    );
  }
}

/** Merges the subtrees of rows to one tree. */
function merged(paths: Paths, rows: Uint32Array, end: Uint32Array): Paths {
  let most = 0;
  for (const row of rows) most += end[row]! - row;
  const { base } = paths;
  const out = emptyPaths(most, { base });
  const number = new Uint32Array(paths.count);
  const known = new PairMap(Math.min(most, 1 << 16));
  for (const top of rows)
    for (let i = top; i < end[top]!; i++) {
      const above = i === top ? NONE : number[paths.parent[i]!]!;
      const region = paths.region[i]!;
      const at = known.add(above, region);
      number[i] = at;
      out.parent[at] = above;
      out.region[at] = region;
      out.visits[at]! += paths.visits[i]!;
      out.incl[at]! += paths.incl[i]!;
      out.excl[at]! += paths.excl[i]!;
      out.hidden[at]! += paths.hidden[i]!;
      if (!base || !out.base) continue;
      out.base.visits[at]! += base.visits[i]!;
      out.base.incl[at]! += base.incl[i]!;
      out.base.excl[at]! += base.excl[i]!;
    }
  return arranged(firstRows(out, known.size));
}

/** Merges the call paths from rows up to the start. Exclusive time is the part without further caller. */
function callersOf(lift: Lift, region: number, rows: RowSet): Paths {
  const parent: number[] = [];
  const regions: number[] = [];
  const visits: number[] = [];
  const incl: number[] = [];
  const hidden: number[] = [];
  const before: number[] = [];
  const put = (up: number, what: number, calls: number, time: number, was: number, n: number): number => {
    before.push(was);
    return parent.push(up) && regions.push(what) && visits.push(calls) && incl.push(time) && hidden.push(n) && parent.length - 1;
  };
  const sum = rows.incl.reduce((a, b) => a + b, 0);
  const calls = rows.visits.reduce((a, b) => a + b, 0);
  const stack: { node: number; rows: RowSet }[] = [{ node: put(NONE, region, calls, sum, rows.baseIncl.reduce((a, b) => a + b, 0), 0), rows }];
  while (stack.length) {
    const { node, rows: below } = stack.pop()!;
    const groups = lift.callers(below);
    let small = 0;
    let time = 0;
    let visited = 0;
    let was = 0;
    for (let k = 0; k < groups.n; k++) {
      const here = groups.sum.incl[k]!;
      if (here < sum * MIN_PATH_SHARE) {
        small++;
        time += here;
        visited += groups.sum.visits[k]!;
        was += groups.sum.baseIncl[k] ?? 0;
      } else stack.push({ node: put(node, groups.region[k]!, groups.sum.visits[k]!, here, groups.sum.baseIncl[k] ?? 0, 0), rows: rowsOf(groups, k) });
    }
    if (small) put(node, NONE, visited, time, was, small);
  }
  const tree = emptyPaths(parent.length, { base: lift.paths.base });
  tree.base?.incl.set(before);
  tree.parent.set(parent);
  tree.region.set(regions);
  tree.visits.set(visits);
  tree.incl.set(incl);
  tree.hidden.set(hidden);
  const out = arranged(tree);
  out.excl.set(out.incl);
  for (let i = 0; i < out.count; i++) if (out.parent[i] !== NONE) out.excl[out.parent[i]!]! -= out.incl[i]!;
  for (let i = 0; i < out.count; i++) if (out.excl[i]! < sum * 1e-12) out.excl[i] = 0; // remove rounding errors
  return out;
}

/** undefined: the tree has no call of the function. */
export function sandwich(paths: Paths, region: number, regions: number): Sandwich | undefined {
  const end = subtreeEnds(paths);
  const rows = outermostRows(paths, region, end);
  if (!rows.length) return undefined;
  const callers = new Edges();
  const callees = new Edges();
  let visits = 0;
  let excl = 0;
  const was = { visits: 0, incl: 0, excl: 0 };
  for (let i = 0; i < paths.count; i++) {
    if (paths.region[i] === region) {
      visits += paths.visits[i]!;
      excl += paths.excl[i]!;
      was.visits += paths.base?.visits[i] ?? 0;
      was.excl += paths.base?.excl[i] ?? 0;
      callers.add(paths, i, callerOf(paths, i), end);
    }
    if (callerOf(paths, i) === region) callees.add(paths, i, paths.region[i]!, end);
  }
  for (const row of rows) was.incl += paths.base?.incl[row] ?? 0;
  const set: RowSet = {
    at: rows,
    incl: Float64Array.from(rows, (i) => paths.incl[i]!),
    excl: Float64Array.from(rows, (i) => paths.excl[i]!),
    visits: Float64Array.from(rows, (i) => paths.visits[i]!),
    hidden: new Float64Array(rows.length),
    baseIncl: Float64Array.from(paths.base ? rows : [], (i) => paths.base!.incl[i]!),
    baseExcl: Float64Array.from(paths.base ? rows : [], (i) => paths.base!.excl[i]!),
  };
  return {
    region,
    visits,
    excl,
    base: paths.base && was,
    outermost: set.visits.reduce((a, b) => a + b, 0),
    incl: set.incl.reduce((a, b) => a + b, 0),
    callers: callers.sorted(paths.base !== undefined),
    callees: callees.sorted(paths.base !== undefined),
    down: merged(paths, rows, end),
    up: callersOf(new Lift(paths, regions), region, set),
  };
}
