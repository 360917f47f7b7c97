// SPDX-License-Identifier: BSD-3-Clause
// The tree of call paths, as the kind "tree" gives it: rows in preorder, siblings by inclusive time, the longest first.
import { type Columns, NONE } from "../data/columns";
import { scaleOf, TIME, type Weight } from "../data/weight";

/** The row of the whole run, above the outermost calls. */
export const ROOT = -1;

export class Tree {
  readonly parent: Uint32Array;
  /** NONE: a row for `hidden` smaller paths below its parent. */
  readonly region: Uint32Array;
  readonly hidden: Uint32Array;
  readonly visits: Float64Array;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  /** Of the run compared with, if there is one. */
  readonly base: { visits: Float64Array; incl: Float64Array; excl: Float64Array } | undefined;
  readonly depth: Uint32Array;
  /** The row after the last one below each row. */
  readonly end: Uint32Array;
  /** Where each row's box begins, in seconds, when siblings lie side by side in order. */
  readonly start: Float64Array;
  /** Of each row's width, what its children take. */
  readonly covered: Float64Array;
  readonly total: number;
  readonly baseTotal: number;
  /** Why there is no base where two runs are compared: a sentence. */
  readonly baseNone: string | undefined;
  /** Of all paths, those hidden included. */
  readonly paths: number;
  readonly deepest: number;

  /** weight: what incl and excl are; the columns have been asked for with it. */
  constructor(
    columns: Columns<"tree">,
    readonly weight: Weight = TIME,
  ) {
    this.parent = columns.get("parent");
    this.region = columns.get("region");
    this.hidden = columns.get("hidden");
    this.visits = columns.get("visits");
    const { metric } = weight;
    const scaled = (which: "incl" | "excl"): Float64Array => columns.metric(metric!.name, which).map((value) => value * scaleOf(metric!));
    this.incl = metric ? scaled("incl") : columns.get("incl");
    this.excl = metric ? scaled("excl") : columns.get("excl");
    if (columns.has("base_incl") && !metric)
      this.base = { visits: columns.get("base_visits"), incl: columns.get("base_incl"), excl: columns.get("base_excl") };
    const n = this.parent.length;
    this.depth = new Uint32Array(n);
    this.end = new Uint32Array(n);
    this.start = new Float64Array(n);
    this.covered = new Float64Array(n);
    const [total, deepest] = this.lay();
    this.total = total;
    this.deepest = deepest;
    this.baseTotal = this.base ? this.sumOfOutermost(this.base.incl) : 0;
    this.baseNone = columns.meta.base_none;
    this.paths = columns.meta.paths;
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

  private sumOfOutermost(column: Float64Array): number {
    let sum = 0;
    for (let row = 0; row < this.count; row = this.end[row]!) sum += column[row]!;
    return sum;
  }

  /** The rows just below one, the longest first. */
  children(row: number): number[] {
    const out = [];
    const end = this.endOf(row);
    for (let child = row + 1; child < end; child = this.end[child]!) out.push(child);
    return out;
  }

  endOf(row: number): number {
    return row === ROOT ? this.count : this.end[row]!;
  }

  /** Where the last box below the row ends. */
  coveredTo(row: number): number {
    return row === ROOT ? this.total : this.start[row]! + this.covered[row]!;
  }

  /** Where siblings from one row on to before another one end. */
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

  /** Rows from the outermost call to the row itself. */
  ancestors(row: number): number[] {
    const out = [];
    for (let at = row; at !== ROOT; at = this.parentOf(at)) out.push(at);
    return out.reverse();
  }

  /** The path as the selection keeps it; that of a row of small ones is its parent's. */
  pathOf(row: number): number[] {
    return this.ancestors(row)
      .map((at) => this.region[at]!)
      .filter((region) => region !== NONE);
  }

  /** The row of a path, or of as much of it as there is: another range of time may not have come there. exact: or none (ROOT). */
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

  /** Number of paths in rows from one on up to another, those hidden included. */
  pathsIn(from: number, to: number): number {
    let n = 0;
    for (let row = from; row < to; row++) n += this.region[row] === NONE ? this.hidden[row]! : 1;
    return n;
  }
}

export interface Hits {
  /** 1 for each row that is one of the regions. */
  rows: Uint8Array;
  regions: number;
  paths: number;
  /** In seconds: the outermost hits, so that no time counts twice. */
  time: number;
}

/** Which rows a search has found. */
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

/** 1 for each name in which the text occurs, whatever its case; undefined for no search. /…/ is a regular expression. */
export function search(names: readonly string[], text: string | undefined): Uint8Array | undefined {
  const wanted = text?.trim().toLowerCase();
  if (!wanted) return undefined;
  const found = new Uint8Array(names.length);
  const pattern = expression(wanted);
  for (let i = 0; i < names.length; i++) found[i] = (pattern ? pattern.test(names[i]!) : names[i]!.includes(wanted)) ? 1 : 0;
  return found;
}

/** Why a search is no regular expression although it looks like one; it is then taken as text. */
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
