// SPDX-License-Identifier: BSD-3-Clause
// The bottom-up tree: functions by exclusive time, each with its callers below it. A caller's row has the part of the function's numbers
// that belongs to calls by this caller. The callers of a row are only computed when the row is expanded.
import { Lift, rowsOf, type Carried, type Groups, type RowSet } from "./lift";
import { NONE, type Paths } from "./paths";

export type BottomUpKey = "excl" | "incl" | "visits" | "name" | "baseExcl" | "change";

/** The row of a node. */
export interface BottomUpRow {
  readonly region: number;
  readonly depth: number; // 0: the function itself
  readonly incl: number;
  readonly excl: number;
  readonly visits: number;
  readonly hidden: number;
  /** In the other run; undefined: no other run. */
  readonly baseExcl: number | undefined;
  readonly open: boolean;
  readonly closed: boolean; // collapsed, but has callers
}

/** The functions, or the callers below one node. Their nodes have consecutive numbers. */
interface Level {
  readonly groups: Groups;
  readonly firstNode: number;
  readonly parent: number; // node whose callers these are; NONE: the functions
  readonly depth: number;
}

export class BottomUp {
  private readonly lift: Lift;
  private readonly nameOf: (region: number) => string;
  private readonly levels: Level[] = [];
  private readonly levelBelow = new Map<number, number>(); // for each node that was expanded once
  private readonly opened = new Set<number>();
  private nodes = 0;
  private order: Uint32Array = new Uint32Array(0);
  private key: BottomUpKey = "excl";
  private wanted: (region: number) => boolean = () => true;

  constructor(paths: Paths, regions: number, nameOf: (region: number) => string) {
    this.lift = new Lift(paths, regions);
    this.nameOf = nameOf;
    this.addLevel(this.lift.all(), NONE, 0);
    this.arrange();
  }

  private addLevel(groups: Groups, parent: number, depth: number): void {
    this.levels.push({ groups, firstNode: this.nodes, parent, depth });
    this.nodes += groups.n;
  }

  /** The level of a node: the last one that begins at or before it. */
  private levelOf(node: number): Level {
    let low = 0;
    let high = this.levels.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.levels[middle]!.firstNode <= node) low = middle;
      else high = middle - 1;
    }
    return this.levels[low]!;
  }

  private rows(node: number): RowSet {
    const level = this.levelOf(node);
    return rowsOf(level.groups, node - level.firstNode);
  }

  private sorted(level: Level): Uint32Array {
    const { groups } = level;
    const ids = Uint32Array.from({ length: groups.n }, (_, i) => i);
    if (this.key === "name") {
      const names = Array.from(groups.region, (region) => this.nameOf(region));
      return ids.sort((a, b) => (names[a]! < names[b]! ? -1 : names[a]! > names[b]! ? 1 : a - b));
    }
    const { excl, baseExcl } = groups.sum;
    const key = this.key === "change" ? excl.map((now, k) => now - (baseExcl[k] ?? 0)) : groups.sum[this.key];
    return ids.sort((a, b) => key[b]! - key[a]! || groups.sum.incl[b]! - groups.sum.incl[a]! || a - b);
  }

  /** Computes the visible nodes in their order. */
  private arrange(): void {
    const out: number[] = [];
    const show = (index: number): void => {
      const level = this.levels[index]!;
      for (const k of this.sorted(level)) {
        if (index === 0 && !this.wanted(level.groups.region[k]!)) continue;
        const node = level.firstNode + k;
        out.push(node);
        if (this.opened.has(node)) show(this.levelBelow.get(node)!);
      }
    };
    show(0);
    this.order = Uint32Array.from(out);
  }

  /** The visible nodes in their order. A new array after each change. */
  get shown(): Uint32Array {
    return this.order;
  }

  /** Sum over all visible functions. */
  total(what: keyof Carried): number {
    const { groups } = this.levels[0]!;
    return groups.sum[what].reduce((sum, v, k) => (this.wanted(groups.region[k]!) ? sum + v : sum), 0);
  }

  row(node: number): BottomUpRow {
    const level = this.levelOf(node);
    const k = node - level.firstNode;
    const { sum, region } = level.groups;
    const open = this.opened.has(node);
    return {
      region: region[k]!,
      depth: level.depth,
      incl: sum.incl[k]!,
      excl: sum.excl[k]!,
      visits: sum.visits[k]!,
      hidden: sum.hidden[k]!,
      baseExcl: sum.baseExcl[k],
      open,
      closed: !open && this.lift.haveCallers(this.rows(node)),
    };
  }

  /** The node above; NONE: the node is a function. */
  parent(node: number): number {
    return this.levelOf(node).parent;
  }

  /** The node of a function at the top level; NONE: it is not visible. */
  find(region: number): number {
    const k = this.levels[0]!.groups.region.indexOf(region);
    return k < 0 || !this.wanted(region) ? NONE : k;
  }

  private openNode(node: number): boolean {
    const rows = this.rows(node);
    if (this.opened.has(node) || !this.lift.haveCallers(rows)) return false;
    if (!this.levelBelow.has(node)) {
      this.levelBelow.set(node, this.levels.length);
      this.addLevel(this.lift.callers(rows), node, this.levelOf(node).depth + 1);
    }
    this.opened.add(node);
    return true;
  }

  open(node: number): void {
    if (this.openNode(node)) this.arrange();
  }

  close(node: number): void {
    if (this.opened.delete(node)) this.arrange();
  }

  /** Expands the callers with the most exclusive time, up to the start of the program. */
  openHottest(from: number): void {
    let node = from;
    while (this.opened.has(node) || this.openNode(node)) {
      const level = this.levels[this.levelBelow.get(node)!]!;
      const { excl, incl } = level.groups.sum;
      let best = 0;
      for (let k = 1; k < level.groups.n; k++)
        if (excl[k]! > excl[best]! || (excl[k] === excl[best] && incl[k]! > incl[best]!)) best = k;
      node = level.firstNode + best;
    }
    this.arrange();
  }

  closeAll(): void {
    this.opened.clear();
    this.arrange();
  }

  /** Sorts each level; numeric columns in descending order. */
  sort(key: BottomUpKey): void {
    this.key = key;
    this.arrange();
  }

  /** Filters the functions; their callers are not filtered. */
  only(wanted: (region: number) => boolean): void {
    this.wanted = wanted;
    this.arrange();
  }
}
