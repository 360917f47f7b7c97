// SPDX-License-Identifier: BSD-3-Clause
// The tree of call paths in the answer of the kind "tree": rows in preorder, siblings in descending order of inclusive time.
import { type Columns, NONE } from "../data/columns";
import { scaleOf, TIME, type Weight } from "../data/weight";
import { type Filters, filteredPaths } from "./filters";
import { type Numbered, besides } from "./ranges";
import type { Base, Paths } from "./paths";

/** The row of the whole run, above the outermost calls. */
export const ROOT = -1;

export class Tree {
  readonly parent: Uint32Array;
  /** NONE: the sum of `hidden` small paths below the parent. */
  readonly region: Uint32Array;
  readonly hidden: Uint32Array;
  readonly visits: Float64Array;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  /** The seconds of incl in which the threads ran; undefined: not known here. */
  readonly running: Float64Array | undefined;
  /** 1 for each row that is part of an import; undefined: none is. */
  readonly imported: Uint8Array | undefined;
  /** The index of each row's path in the run, NONE for sums of small paths; undefined: the rows are not those of an answer. */
  readonly ids: Uint32Array | undefined;
  /** In the other run, if there is one. */
  readonly base: Base | undefined;
  readonly depth: Uint32Array;
  /** The row after the subtree of each row. */
  readonly end: Uint32Array;
  /** The begin of each row's box on the axis, in seconds; siblings are adjacent. */
  readonly start: Float64Array;
  /** The seconds of each row that its children cover. */
  readonly covered: Float64Array;
  readonly total: number;
  readonly baseTotal: number;
  /** Why there are no numbers of the other run although two runs are compared. */
  readonly baseNone: string | undefined;
  /** Number of all paths, including hidden ones. */
  readonly paths: number;
  readonly deepest: number;

  /** meta: of the answer that the paths are from. weight: the metric of incl and excl. */
  constructor(
    paths: Omit<Paths, "count"> & { ids?: Uint32Array },
    readonly meta: Pick<Columns<"tree">["meta"], "base_none" | "paths">,
    readonly weight: Weight = TIME,
  ) {
    this.running = paths.running;
    this.imported = paths.imported;
    this.ids = paths.ids;
    this.parent = paths.parent;
    this.region = paths.region;
    this.hidden = paths.hidden;
    this.visits = paths.visits;
    this.incl = paths.incl;
    this.excl = paths.excl;
    this.base = paths.base;
    const n = this.parent.length;
    this.depth = new Uint32Array(n);
    this.end = new Uint32Array(n);
    this.start = new Float64Array(n);
    this.covered = new Float64Array(n);
    const [total, deepest] = this.lay();
    this.total = total;
    this.deepest = deepest;
    this.baseTotal = this.base ? this.sumOfOutermost(this.base.incl) : 0;
    this.baseNone = meta.base_none;
    this.paths = meta.paths;
  }

  get count(): number {
    return this.parent.length;
  }

  private lay(): [number, number] {
    const { parent, depth, end, start, incl, covered } = this;
    const n = this.count;
    let total = 0;
    let deepest = 0;
    for (let row = 0; row < n; row++) {
      const above = parent[row]!;
      if (above === NONE) {
        start[row] = total;
        total += incl[row]!;
      } else {
        depth[row] = depth[above]! + 1;
        start[row] = start[above]! + covered[above]!;
        covered[above]! += incl[row]!;
      }
      if (depth[row]! > deepest) deepest = depth[row]!;
    }
    for (let row = n - 1; row >= 0; row--) {
      if (!end[row]) end[row] = row + 1;
      const above = parent[row]!;
      if (above !== NONE && end[row]! > end[above]!) end[above] = end[row]!;
    }
    return [total, n ? deepest + 1 : 0];
  }

  /** The seconds in which the threads ran in the function itself. Only with `running`. */
  ranItself(row: number): number {
    let rest = this.running![row]!;
    for (let child = row + 1; child < this.end[row]!; child = this.end[child]!) rest -= this.running![child]!;
    return Math.max(rest, 0);
  }

  private sumOfOutermost(column: Float64Array): number {
    let sum = 0;
    for (let row = 0; row < this.count; row = this.end[row]!) sum += column[row]!;
    return sum;
  }

  /** The children of a row in descending order. */
  children(row: number): number[] {
    const out = [];
    const end = this.endOf(row);
    for (let child = row + 1; child < end; child = this.end[child]!) out.push(child);
    return out;
  }

  endOf(row: number): number {
    return row === ROOT ? this.count : this.end[row]!;
  }

  /** The end of the last child's box. */
  coveredTo(row: number): number {
    return row === ROOT ? this.total : this.start[row]! + this.covered[row]!;
  }

  /** The end of the last box of the siblings from `row` to before `until`. */
  endOfRun(row: number, until: number): number {
    const above = this.parentOf(row);
    return until < this.endOf(above) ? this.start[until]! : this.coveredTo(above);
  }

  startOf(row: number): number {
    return row === ROOT ? 0 : this.start[row]!;
  }

  inclOf(row: number): number {
    return row === ROOT ? this.total : this.incl[row]!;
  }

  parentOf(row: number): number {
    const above = row === ROOT ? NONE : this.parent[row]!;
    return above === NONE ? ROOT : above;
  }

  /** The rows from the outermost call to the row itself. */
  ancestors(row: number): number[] {
    const out = [];
    for (let at = row; at !== ROOT; at = this.parentOf(at)) out.push(at);
    return out.reverse();
  }

  /** The path of a row as in the selection; for a sum of small paths that of its parent. */
  pathOf(row: number): number[] {
    return this.ancestors(row)
      .map((at) => this.region[at]!)
      .filter((region) => region !== NONE);
  }

  /** The row of a path. If the tree does not have it, as another range of time is selected: the row of its longest known prefix, or ROOT
   * with exact. */
  find(path: readonly number[] | undefined, exact = false): number {
    let row = ROOT;
    for (const region of path ?? []) {
      const next = this.child(row, region);
      if (next === ROOT) return exact ? ROOT : row;
      row = next;
    }
    return row;
  }

  private child(row: number, region: number): number {
    const end = this.endOf(row);
    for (let child = row + 1; child < end; child = this.end[child]!) if (this.region[child] === region) return child;
    return ROOT;
  }

  /** The longest call path that ends in the region. */
  longest(region: number): number {
    let best = ROOT;
    for (let row = 0; row < this.count; row++)
      if (this.region[row] === region && (best === ROOT || this.incl[row]! > this.incl[best]!)) best = row;
    return best;
  }

  /** Number of paths in the rows `from` to before `to`, including hidden ones. */
  pathsIn(from: number, to: number): number {
    let n = 0;
    for (let row = from; row < to; row++) n += this.region[row] === NONE ? this.hidden[row]! : 1;
    return n;
  }
}

/** The tree of an answer. weight: the metric of incl and excl; the columns must be the answer for it. */
export function treeIn(columns: Columns<"tree">, weight: Weight = TIME): Tree {
  const { metric } = weight;
  const scaled = (which: "incl" | "excl"): Float64Array => columns.metric(metric!.name, which).map((value) => value * scaleOf(metric!));
  const base = columns.has("base_incl") && !metric ? { visits: columns.get("base_visits"), incl: columns.get("base_incl"), excl: columns.get("base_excl") } : undefined;
  const paths = {
    parent: columns.get("parent"),
    region: columns.get("region"),
    hidden: columns.get("hidden"),
    visits: columns.get("visits"),
    incl: metric ? scaled("incl") : columns.get("incl"),
    excl: metric ? scaled("excl") : columns.get("excl"),
    running: columns.has("running") && !metric ? columns.get("running") : undefined,
    imported: columns.has("imported") ? columns.get("imported") : undefined,
    ids: columns.has("path") ? columns.get("path") : undefined,
    base,
  };
  return new Tree(paths, columns.meta, weight);
}

const lastBeside = new WeakMap<Tree, { other: Tree; made: Tree }>();

/** The tree of a range of time with the numbers of another range as those of the base. The last result of each tree is kept. */
export function treeBeside(tree: Tree, other: Tree): Tree {
  const last = lastBeside.get(tree);
  if (last?.other === other) return last.made;
  const made = new Tree(besides(tree as Numbered, other as Numbered), tree.meta);
  lastBeside.set(tree, { other, made });
  return made;
}

const lastFiltered = new WeakMap<Tree, { filters: Filters; made: Tree }>();

/** The tree without what the filters leave out. own: 1 for each region of own code. The last result of each tree is kept, as several parts
 * of a page need it; filters: the same object each time, until they change. */
export function filteredTree(tree: Tree, own: ArrayLike<number>, filters: Filters): Tree {
  const last = lastFiltered.get(tree);
  if (last?.filters === filters) return last.made;
  const paths = filteredPaths(tree, own, filters);
  let known = 0;
  for (let row = 0; row < paths.count; row++) known += paths.region[row] === NONE ? paths.hidden[row]! : 1;
  const made = new Tree(paths, { ...tree.meta, paths: known }, tree.weight);
  lastFiltered.set(tree, { filters, made });
  return made;
}

export interface Hits {
  /** 1 for each row whose region was found. */
  rows: Uint8Array;
  regions: number;
  paths: number;
  /** In seconds; only of the outermost hits, so no time counts twice. */
  time: number;
}

/** The rows of the regions that a search has found. */
export function hitsIn(tree: Tree, found: Uint8Array): Hits {
  const rows = new Uint8Array(tree.count);
  let regions = 0;
  for (const hit of found) regions += hit;
  let paths = 0;
  let time = 0;
  for (let row = 0, outer = 0; row < tree.count; row++) {
    const region = tree.region[row]!;
    if (region === NONE || !found[region]) continue;
    rows[row] = 1;
    paths++;
    if (row >= outer) {
      time += tree.incl[row]!;
      outer = tree.end[row]!;
    }
  }
  return { rows, regions, paths, time };
}

/** 1 for each name that contains the text, ignoring case; undefined: no search. /…/ is a regular expression. */
export function search(names: readonly string[], text: string | undefined): Uint8Array | undefined {
  const wanted = text?.trim().toLowerCase();
  if (!wanted) return undefined;
  const found = new Uint8Array(names.length);
  const pattern = expression(wanted);
  for (let i = 0; i < names.length; i++) found[i] = (pattern ? pattern.test(names[i]!) : names[i]!.includes(wanted)) ? 1 : 0;
  return found;
}

/** The error of a search text /…/ that is no valid regular expression and is therefore searched as plain text. */
export function searchProblem(text: string | undefined): string | undefined {
  const wanted = text?.trim() ?? "";
  if (wanted.length < 3 || !wanted.startsWith("/") || !wanted.endsWith("/")) return undefined;
  try {
    new RegExp(wanted.slice(1, -1));
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^Invalid regular expression: (\/.*\/\w*: )?/, "");
  }
}

function expression(text: string): RegExp | undefined {
  if (text.length < 3 || !text.startsWith("/") || !text.endsWith("/")) return undefined;
  try {
    return new RegExp(text.slice(1, -1));
  } catch {
    return undefined;
  }
}
