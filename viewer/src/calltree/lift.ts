// SPDX-License-Identifier: BSD-3-Clause
// Steps from calls to their callers, for the bottom-up tree and for the callers of one function. A set of calls is represented by the rows
// that it has reached on the way up; calls that reach the same row are added.
import { NONE, ROOT_REGION, isCall, subtreeEnds, type Paths } from "./paths";

/** The numbers of rows. Inclusive time is that of the outermost calls only, so recursion counts once. */
export interface Carried {
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  readonly visits: Float64Array;
  readonly hidden: Float64Array;
  /** In the other run; empty without another run. */
  readonly baseIncl: Float64Array;
  readonly baseExcl: Float64Array;
}

/** Different rows. */
export interface RowSet extends Carried {
  readonly at: Uint32Array;
}

/** Rows grouped by region: group k has the region region[k], the rows begin[k] to before begin[k + 1], and the sums. */
export interface Groups {
  readonly n: number;
  readonly region: Uint32Array;
  readonly begin: Uint32Array;
  readonly sum: Carried;
  readonly rows: RowSet;
}

export function carried(n: number, compared: boolean): Carried {
  return {
    baseIncl: new Float64Array(compared ? n : 0),
    baseExcl: new Float64Array(compared ? n : 0),
    incl: new Float64Array(n),
    excl: new Float64Array(n),
    visits: new Float64Array(n),
    hidden: new Float64Array(n),
  };
}

function add(to: Carried, i: number, from: Carried, k: number): void {
  to.incl[i]! += from.incl[k]!;
  to.excl[i]! += from.excl[k]!;
  to.visits[i]! += from.visits[k]!;
  to.hidden[i]! += from.hidden[k]!;
  if (!to.baseIncl.length) return;
  to.baseIncl[i]! += from.baseIncl[k]!;
  to.baseExcl[i]! += from.baseExcl[k]!;
}

/** The rows of a group. */
export function rowsOf(groups: Groups, k: number): RowSet {
  const from = groups.begin[k]!;
  const to = groups.begin[k + 1]!;
  const { at, incl, excl, visits, hidden, baseIncl, baseExcl } = groups.rows;
  return {
    baseIncl: baseIncl.subarray(from, to),
    baseExcl: baseExcl.subarray(from, to),
    at: at.subarray(from, to),
    incl: incl.subarray(from, to),
    excl: excl.subarray(from, to),
    visits: visits.subarray(from, to),
    hidden: hidden.subarray(from, to),
  };
}

export class Lift {
  readonly paths: Paths;
  private readonly regions: number;
  private readonly slotOf: Int32Array; // for each row: 1 + its index among the rows of the current step, 0: none
  private readonly count: Uint32Array; // rows by region in the current grouping; the last entry is for NONE

  /** regions: number of regions. */
  constructor(paths: Paths, regions: number) {
    this.paths = paths;
    this.regions = regions;
    this.slotOf = new Int32Array(paths.count);
    this.count = new Uint32Array(regions + 1);
  }

  private index(row: number): number {
    const region = this.paths.region[row]!;
    return region === NONE ? this.regions : region;
  }

  /** All rows of the tree, grouped. */
  all(): Groups {
    const { paths } = this;
    const at = new Uint32Array(paths.count);
    const { base } = paths;
    const own = carried(paths.count, base !== undefined);
    const end = subtreeEnds(paths);
    const until = new Uint32Array(this.regions + 1); // for each region: row after its outermost call
    let n = 0;
    for (let i = 0; i < paths.count; i++) {
      const region = paths.region[i]!;
      if (region === ROOT_REGION) continue;
      const k = this.index(i);
      at[n] = i;
      if (i >= until[k]!) {
        until[k] = end[i]!;
        own.incl[n] = paths.incl[i]!;
        if (base) own.baseIncl[n] = base.incl[i]!;
      }
      if (base) own.baseExcl[n] = region === NONE ? base.incl[i]! : base.excl[i]!;
      // rows below a sum of small paths are unknown, so all of its time is exclusive
      own.excl[n] = region === NONE ? paths.incl[i]! : paths.excl[i]!;
      own.visits[n] = paths.visits[i]!;
      own.hidden[n] = paths.hidden[i]!;
      n++;
    }
    return this.divide({ at: at.subarray(0, n), ...own });
  }

  /** The callers of these rows, grouped. Rows without caller are in no group. */
  callers(rows: RowSet): Groups {
    const { parent } = this.paths;
    const at = new Uint32Array(rows.at.length);
    const sum = carried(at.length, this.paths.base !== undefined);
    let n = 0;
    for (let i = 0; i < rows.at.length; i++) {
      const up = parent[rows.at[i]!]!;
      if (up === NONE || !isCall(this.paths, up)) continue;
      let slot = this.slotOf[up]! - 1;
      if (slot < 0) {
        slot = n++;
        this.slotOf[up] = slot + 1;
        at[slot] = up;
      }
      add(sum, slot, rows, i);
    }
    for (let i = 0; i < n; i++) this.slotOf[at[i]!] = 0;
    return this.divide({ at: at.subarray(0, n), ...sum });
  }

  /** Whether any of the rows has a caller. */
  haveCallers(rows: RowSet): boolean {
    const { parent } = this.paths;
    return rows.at.some((row) => parent[row] !== NONE && isCall(this.paths, parent[row]!));
  }

  private divide(rows: RowSet): Groups {
    const { count } = this;
    const n = rows.at.length;
    const found: number[] = [];
    for (let i = 0; i < n; i++) {
      const k = this.index(rows.at[i]!);
      if (count[k]!++ === 0) found.push(k);
    }
    const begin = new Uint32Array(found.length + 1);
    const compared = this.paths.base !== undefined;
    const sum = carried(found.length, compared);
    found.forEach((k, group) => {
      begin[group + 1] = begin[group]! + count[k]!;
      count[k] = group;
    });
    const place = begin.slice();
    const to: RowSet = { at: new Uint32Array(n), ...carried(n, compared) };
    for (let i = 0; i < n; i++) {
      const group = count[this.index(rows.at[i]!)]!;
      const here = place[group]!++;
      to.at[here] = rows.at[i]!;
      add(to, here, rows, i);
      add(sum, group, rows, i);
    }
    for (const k of found) count[k] = 0;
    const region = Uint32Array.from(found, (k) => (k === this.regions ? NONE : k));
    return { n: found.length, region, begin, sum, rows: to };
  }
}
