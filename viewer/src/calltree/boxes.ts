// SPDX-License-Identifier: BSD-3-Clause
// Selects the boxes of the call tree to draw, at most as many as there are pixels. Adjacent siblings that are too narrow are drawn as one
// box, so no time is missing in the picture.
import { NONE } from "../data/columns";
import { ROOT, type Tree } from "./tree";

export const MIN_WIDTH = 0.5; // pixels: narrower boxes are combined

/** Parallel arrays, as a picture has thousands of boxes and is drawn several times a second. Times are in seconds on the tree's axis
 * (Tree.start). */
export interface Boxes {
  row: number[];
  /** For a combined box the row after its last one, else 0. */
  until: number[];
  depth: number[];
  from: number[];
  to: number[];
}

export interface Cut {
  /** The row whose callees have depth 0. */
  top: number;
  /** The visible part of the axis, in seconds. */
  from: number;
  to: number;
  /** Pixels per second. */
  scale: number;
  /** The first visible level, and the number of visible levels. */
  first: number;
  levels: number;
}

/** The visible boxes, callers before callees. */
export function boxesIn(tree: Tree, cut: Cut): Boxes {
  const out: Boxes = { row: [], until: [], depth: [], from: [], to: [] };
  const open: number[] = [cut.top]; // rows whose callees are not processed yet
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
  let small = -1; // the first of the current sequence of too narrow siblings; -1: none
  const together = (until: number, to: number): void => {
    if (small < 0) return;
    const from = tree.start[small]!;
    if (to > cut.from && (to - from) * cut.scale >= MIN_WIDTH) put(out, cut, small, until, depth, from, to);
    small = -1;
  };
  for (let row = above + 1; row < end; row = tree.end[row]!) {
    const from = tree.start[row]!;
    if (from >= cut.to) return together(row, from);
    const to = from + tree.incl[row]!;
    if ((to - from) * cut.scale < MIN_WIDTH || tree.region[row] === NONE) {
      if (small < 0) small = row;
      // siblings are in descending order, so all further ones are too narrow or hidden; with another run, its time changes the order
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

/** Finds the box at a point by binary search: the boxes of a level are ordered from left to right. -1: no box. */
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
  /** The functions with the most time among the outermost calls of the box. */
  top: { region: number; time: number }[];
}

/** The contents of a combined box: the siblings from `row` to before `until`. */
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

/** The row that an arrow key selects: caller, longest callee, or sibling of `row`. */
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
