// SPDX-License-Identifier: BSD-3-Clause
// Which calls of a timeline the filters show, and for which function the time of a hidden call counts. The call tree of the whole run has
// what calls alone do not say: which paths are imports, and how much time they have.
import { COUNTED, type Filters, keptRows, smallRows } from "./filters";
import { NONE, type Paths, ROOT_REGION } from "./paths";

/** All calls with one call path. */
export interface Calls {
  readonly region: number;
  readonly shown: boolean;
  /** The number of shown callers. */
  readonly depth: number;
  /** The function that the exclusive time counts for; NONE: the filters leave it out. */
  readonly counts: number;
}

interface Known extends Calls {
  readonly row: number; // of the tree; NONE: the tree does not have the path, or combines it with others
  readonly kept: number;
  readonly outer: Known | undefined; // the innermost shown one: this one or a caller
  readonly above: Known | undefined; // the innermost shown caller
  readonly combined: boolean; // a combined block is on the path: its callees may belong to other functions
  below: Map<number, Known>; // by region * 2 + 1 if combined
  rows: Map<number, number> | undefined; // the tree's row of each callee
}

export class Visible {
  private readonly kept: Uint8Array;
  private readonly small: Uint8Array | undefined;
  private readonly end: ArrayLike<number>;
  private readonly top: Known = { region: NONE, row: NONE, kept: COUNTED, shown: false, depth: -1, counts: NONE, outer: undefined, above: undefined, combined: false, below: new Map(), rows: undefined };

  /** tree: of the whole run; end: for each row the first one after its subtree; own: 1 for each region of own code. */
  constructor(
    private readonly tree: Paths & { end: ArrayLike<number> },
    private readonly own: ArrayLike<number>,
    private readonly filters: Filters,
  ) {
    this.kept = keptRows(tree, filters);
    this.small = smallRows(tree, own, filters);
    this.end = tree.end;
  }

  /** The calls of a function by a caller; undefined: by the program's start. isCombined: they are a block of several functions, which has
   * the name of the one with most of the time. */
  calls(caller: Calls | undefined, region: number, isCombined = false): Calls {
    const up = (caller as Known | undefined) ?? this.top;
    const combined = isCombined || up.combined;
    const key = region * 2 + (combined ? 1 : 0);
    let found = up.below.get(key);
    if (!found) up.below.set(key, (found = this.make(up, region, combined)));
    return found;
  }

  /** The row of each region's path with the most time. */
  private longest(region: number): number {
    if (!this.longestOf) {
      this.longestOf = new Map();
      for (let row = 0; row < this.tree.count; row++) {
        const before = this.longestOf.get(this.tree.region[row]!);
        if (before === undefined || this.tree.incl[row]! > this.tree.incl[before]!) this.longestOf.set(this.tree.region[row]!, row);
      }
    }
    return this.longestOf.get(region) ?? NONE;
  }
  private longestOf: Map<number, number> | undefined;

  private rowOf(up: Known, region: number): number {
    if (up.row === NONE && up !== this.top) return NONE;
    if (!up.rows) {
      up.rows = new Map();
      const last = up === this.top ? this.tree.count : this.end[up.row]!;
      for (let row = up === this.top ? 0 : up.row + 1; row < last; row = this.end[row]!) up.rows.set(this.tree.region[row]!, row);
    }
    return up.rows.get(region) ?? NONE;
  }

  private make(up: Known, region: number, combined: boolean): Known {
    const under = this.rowOf(up, region);
    const row = under === NONE && combined ? this.longest(region) : under;
    const kept = row === NONE ? (this.filters.only?.[region] ? COUNTED : up.kept) : this.kept[row]!;
    const above = up.outer;
    const shown = kept > 0 && !this.hides(row, region, above);
    const made: Known = { region, row, kept, shown, depth: above ? above.depth + 1 : 0, counts: NONE, outer: above, above, combined, below: new Map(), rows: undefined };
    const program = this.filters.code === "own" && region !== NONE ? ROOT_REGION : NONE;
    const counts = kept !== COUNTED ? NONE : shown ? region : above ? above.region : program;
    return shown ? Object.assign(made, { counts, outer: made }) : { ...made, counts };
  }

  /** Whether a call that is not left out counts for a caller. above: its innermost shown caller. */
  private hides(row: number, region: number, above: Known | undefined): boolean {
    const { code, foldRecursion } = this.filters;
    const isOther = (one: number): boolean => this.own[one] !== 1;
    if (code === "own" && isOther(region)) return true;
    if (code === "entries" && isOther(region) && above && isOther(above.region)) return true;
    if (foldRecursion) for (let at = above; at; at = at.above) if (at.region === region) return true;
    return this.small !== undefined && (row === NONE || this.small[row] === 1);
  }
}
