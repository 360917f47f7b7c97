// SPDX-License-Identifier: BSD-3-Clause
// Which boxes of the call tree are drawn: no more than there are pixels. What is too narrow stands beside its siblings in one box that
// knows what it holds, so no time is missing from a picture.
import { NONE } from "../data/columns";
import { ROOT, type Tree } from "./tree";

export const LEAST = 0.5; // pixels: the narrowest box

/** Parallel arrays: a picture has thousands of boxes, several times a second. Moments are on the tree's axis (Tree.start), in seconds. */
export interface Boxes {
  row: number[];
  /** For a box of small ones the row after its last one, else 0. */
  until: number[];
  depth: number[];
  from: number[];
  to: number[];
}

export interface Cut {
  /** Whose callees are at depth 0. */
  top: number;
  /** The part of the axis that is in sight. */
  from: number;
  to: number;
  /** Pixels for a second. */
  scale: number;
  /** How many levels are in sight: from the first, as many. */
  first: number;
  levels: number;
}

/** The boxes in sight, callers before callees. */
export function boxesIn(tree: Tree, cut: Cut): Boxes {
  const out: Boxes = { row: [], until: [], depth: [], from: [], to: [] };
  const open: number[] = [cut.top]; // rows whose callees are still to come
  const depths: number[] = [0];
  while (open.length) {
    const above = open.pop()!;
    const depth = depths.pop()!;
    below(tree, cut, above, depth, out, (row) => {
      if (depth + 1 >= cut.first + cut.levels || tree.end[row]! === row + 1) return;
      open.push(row);
      depths.push(depth + 1);
    });
  }
  return out;
}

function put(out: Boxes, cut: Cut, row: number, until: number, depth: number, from: number, to: number): void {
  if (depth < cut.first) return;
  out.row.push(row);
  out.until.push(until);
  out.depth.push(depth);
  out.from.push(from);
  out.to.push(to);
}

function below(tree: Tree, cut: Cut, above: number, depth: number, out: Boxes, enter: (row: number) => void): void {
  const end = tree.endOf(above);
  const limit = tree.coveredTo(above);
  let small = -1; // the first of small siblings that stand together
  const together = (until: number, to: number): void => {
    if (small < 0) return;
    const from = tree.start[small]!;
    if (to > cut.from && (to - from) * cut.scale >= LEAST) put(out, cut, small, until, depth, from, to);
    small = -1;
  };
  for (let row = above + 1; row < end; row = tree.end[row]!) {
    const from = tree.start[row]!;
    if (from >= cut.to) return together(row, from);
    const to = from + tree.incl[row]!;
    if ((to - from) * cut.scale < LEAST || tree.region[row] === NONE) {
      if (small < 0) small = row;
      // siblings come by time, so all that follow are as small, or hidden already; beside another run its time counts as well
      if (!tree.base) break;
      continue;
    }
    together(row, from);
    if (to <= cut.from) continue;
    put(out, cut, row, 0, depth, from, to);
    enter(row);
  }
  together(end, limit);
}

/** The box at a place, by halving: those of a level come from left to right. -1: none. */
export class Finder {
  private readonly levels = new Map<number, number[]>();

  constructor(private readonly boxes: Boxes) {
    boxes.row.forEach((_, box) => {
      const depth = boxes.depth[box]!;
      const level = this.levels.get(depth);
      if (level) level.push(box);
      else this.levels.set(depth, [box]);
    });
    for (const level of this.levels.values()) level.sort((a, b) => boxes.from[a]! - boxes.from[b]!);
  }

  at(depth: number, moment: number): number {
    const level = this.levels.get(depth) ?? [];
    let low = 0;
    let high = level.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.boxes.from[level[middle]!]! <= moment) low = middle + 1;
      else high = middle;
    }
    const box = level[low - 1];
    return box !== undefined && moment < this.boxes.to[box]! ? box : -1;
  }
}

export interface Held {
  paths: number;
  time: number;
  /** The functions with most time among the outermost of them. */
  top: { region: number; time: number }[];
}

/** What a box of small ones holds: rows of one caller from one on. */
export function heldIn(tree: Tree, row: number, until: number, most = 4): Held {
  const times = new Map<number, number>();
  let time = 0;
  for (let at = row; at < until; at = tree.end[at]!) {
    time += tree.incl[at]!;
    const region = tree.region[at]!;
    if (region !== NONE) times.set(region, (times.get(region) ?? 0) + tree.incl[at]!);
  }
  const top = [...times].map(([region, sum]) => ({ region, time: sum })).sort((a, b) => b.time - a.time);
  return { paths: tree.pathsIn(row, until), time, top: top.slice(0, most) };
}

/** The row that a key leads to, from one: up to the caller, down to the longest callee, along its siblings. */
export function step(tree: Tree, row: number, key: string): number | undefined {
  if (key === "ArrowUp") return tree.parentOf(row);
  const named = (at: number): boolean => tree.region[at] !== NONE;
  if (key === "ArrowDown") return tree.children(row).find(named) ?? row;
  if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined;
  if (row === ROOT) return row;
  const siblings = tree.children(tree.parentOf(row)).filter(named);
  const at = siblings.indexOf(row) + (key === "ArrowLeft" ? -1 : 1);
  return siblings[at] ?? row;
}
