// SPDX-License-Identifier: BSD-3-Clause
// The way from calls up to their callers, for the bottom-up tree and for the callers of one function. A set of calls
// is told by the rows that they have come to on their way up; those that have come to the same row go on as one.
import { NONE, ROOT_REGION, isCall, subtreeEnds, type Paths } from "./paths";

/** What rows carry. Inclusive time is that of the outermost calls only, so that recursion counts once. */
export interface Carried {
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  readonly visits: Float64Array;
  readonly hidden: Float64Array;
  /** Of the run compared with; nothing where there is none. */
  readonly baseIncl: Float64Array;
  readonly baseExcl: Float64Array;
}

/** Rows, each once. */
export interface RowSet extends Carried {
  readonly at: Uint32Array;
}

/** Rows divided by their region: group k has region[k], the rows from begin[k] to begin[k + 1], and the sums. */
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

/** The rows of one group. */
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
  private readonly slotOf: Int32Array; // of the rows of one step: slot + 1
  private readonly count: Uint32Array; // for each region, NONE's at the end: of one division

  /** regions: how many there are. */
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

  /** All rows of the tree. */
  all(): Groups {
    const { paths } = this;
    const at = new Uint32Array(paths.count);
    const { base } = paths;
    const own = carried(paths.count, base !== undefined);
    const end = subtreeEnds(paths);
    const until = new Uint32Array(this.regions + 1); // for each region: where its outermost call ends
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
      // what is hidden has no rows below it that would have exclusive time
      own.excl[n] = region === NONE ? paths.incl[i]! : paths.excl[i]!;
      own.visits[n] = paths.visits[i]!;
      own.hidden[n] = paths.hidden[i]!;
      n++;
    }
    return this.divide({ at: at.subarray(0, n), ...own });
  }

  /** Who called these rows. Those that nothing called are in no group. */
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

  /** Whether anything called them. */
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
