// SPDX-License-Identifier: BSD-3-Clause
// The critical path over the rows of a timeline: a line below the bars of the location on which the run's length depends at each time.
import type { Part, Picture } from "./picture";

const UP = 4; // px; distance from the bottom of a row's first line
const FINEST = 0.75; // px; narrower parts share a column

/** The points of the line within the picture. Parts that are narrower than a pixel add a vertical line only where they reach further. */
export function criticalLine(p: Pick<Picture, "scale" | "left" | "rowOf" | "layout" | "top" | "scroll">, parts: readonly Part[]): [number, number][] {
  const { begin, end } = p.scale.span;
  const points: [number, number][] = [];
  let [least, most] = [0, -1]; // heights that the current column has
  let right = Number.NEGATIVE_INFINITY; // of the current column
  for (const [location, from, to] of parts) {
    if (to < begin || from > end) continue;
    const row = p.rowOf(location);
    if (row < 0) continue;
    const y = p.top + p.layout.tops[row]! - p.scroll + p.layout.row - UP;
    const x0 = p.left + p.scale.x(Math.max(from, begin));
    const x1 = p.left + p.scale.x(Math.min(to, end));
    if (x1 < right && y >= least && y <= most) continue;
    if (x0 >= right) [least, most, right] = [y, y, x0 + FINEST];
    [least, most] = [Math.min(least, y), Math.max(most, y)];
    points.push([x0, y]);
    if (x1 - x0 >= FINEST) points.push([x1, y]);
  }
  return points;
}

export function paintCritical(p: Picture): void {
  if (!p.critical) return;
  const { pen, inks } = p;
  pen.beginPath();
  for (const [x, y] of criticalLine(p, p.critical)) pen.lineTo(x, y);
  pen.lineJoin = "round";
  pen.strokeStyle = inks.paper;
  pen.lineWidth = 5;
  pen.stroke();
  pen.strokeStyle = inks.warn;
  pen.lineWidth = 2.5;
  pen.stroke();
  pen.lineJoin = "miter";
}
