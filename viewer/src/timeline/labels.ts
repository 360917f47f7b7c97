// SPDX-License-Identifier: BSD-3-Clause
// The names in the boxes of a timeline. Boxes of one function that touch share a name: the tiles of the level-of-detail index cut them.
import { setFont, write } from "../draw/ink";
import { count } from "../data/units";
import type { Picture } from "./picture";

const LABEL = 34; // px; narrower boxes have no label
const TOUCH = 2.5; // px; gap that separates no boxes

export interface Label {
  x0: number;
  x1: number;
  y: number; // the middle
  region: number;
  calls: number; // 0: not counted
}

/** Whether two labels are of one box: combined calls of one function, or parts of the same call. */
function isSame(a: Label, b: Label): boolean {
  return a.region === b.region && a.calls !== 1 && b.calls !== 1 && b.x0 - a.x1 <= TOUCH;
}

/** Adds a label that begins after the last one, or merges the two. */
export function extend(labels: Label[], label: Label): void {
  const last = labels[labels.length - 1];
  if (!last || !isSame(last, label)) {
    labels.push(label);
    return;
  }
  last.x1 = Math.max(last.x1, label.x1);
  last.calls += label.calls;
}

/** Merges the labels of a line that touch. Where tiles overlap, labels do too. */
export function merged(labels: readonly Label[]): Label[] {
  const found: Label[] = [];
  for (const label of [...labels].sort((a, b) => a.x0 - b.x0)) extend(found, { ...label });
  return found;
}

export function textOf({ regions }: Pick<Picture, "regions">, { region, calls }: Label): string {
  const name = regions.qualnames[region] || regions.names[region] || "";
  return calls > 1 ? `${count(calls)} × ${name}` : name;
}

/** Draws the labels that fit, and returns them. */
export function paintLabels(p: Picture, labels: readonly Label[]): Label[] {
  const { pen } = p;
  const wide = labels.filter(({ x0, x1 }) => x1 - x0 >= LABEL);
  setFont(pen);
  for (const label of wide) {
    pen.fillStyle = p.dimmed(label.region) ? p.inks.soft : p.inks.ink;
    write(pen, textOf(p, label), label.x0 + 4, label.y + 1, label.x1 - label.x0 - 7);
  }
  return wide;
}
