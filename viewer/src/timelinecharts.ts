// SPDX-License-Identifier: BSD-3-Clause
// Charts of the program's counters above the rows of a time line: a step for each value, in all threads that set it.
import type { Columns } from "./columns";
import { setFont, write } from "./ink";
import type { Asked } from "./timelinecache";
import type { Picture } from "./timelinedraw";
import type { Span } from "./timescale";
import { amount } from "./units";

export const CHART = 38; // px; of one counter
export const CHARTS = 6; // counters that are shown; more would leave no room for rows

export interface Point {
  at: number;
  min: number;
  max: number;
  mean: number;
}
export interface Series {
  name: string;
  of: Map<number, Point[]>; // by location, in the order of time
  low: number;
  high: number;
}

/** What the tiles say of each counter: by name, and of its values the least and the largest in the span. */
export function seriesOf(asked: Asked<Columns> | undefined, span: Span): Series[] {
  const found = new Map<string, Series>();
  for (const piece of asked?.pieces ?? []) {
    if (!piece.exact && asked!.pieces.some((other) => other !== piece && other.begin <= piece.begin && other.end >= piece.end)) continue;
    const c = piece.value;
    const names = (c.meta["names"] ?? []) as string[];
    const [counter, location, at] = [c.u32("counter"), c.u32("location"), c.f64("at")];
    const [min, max, mean] = [c.f64("min"), c.f64("max"), c.f64("mean")];
    for (let i = 0; i < at.length; i++) {
      const name = names[counter[i]!] ?? "";
      let series = found.get(name);
      if (!series) found.set(name, (series = { name, of: new Map(), low: 0, high: 0 }));
      let points = series.of.get(location[i]!);
      if (!points) series.of.set(location[i]!, (points = []));
      // the first row of a tile is the last one before it, which the tile before has told
      if (points.length && points[points.length - 1]!.at >= at[i]!) continue;
      points.push({ at: at[i]!, min: min[i]!, max: max[i]!, mean: mean[i]! });
      if (at[i]! > span.end) continue;
      series.low = Math.min(series.low, min[i]!);
      series.high = Math.max(series.high, max[i]!);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The last value at or before a moment; undefined: there was none. */
export function valueAt(points: readonly Point[], moment: number): Point | undefined {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle]!.at <= moment) low = middle + 1;
    else high = middle;
  }
  return points[low - 1];
}

function paintSeries(p: Picture, series: Series, top: number): void {
  const { pen, scale, inks } = p;
  const range = series.high - series.low || 1;
  const y = (value: number): number => top + CHART - 5 - ((value - series.low) / range) * (CHART - 12);
  pen.fillStyle = inks.accent;
  pen.strokeStyle = inks.accent;
  pen.lineWidth = 1;
  for (const points of series.of.values()) {
    pen.beginPath();
    points.forEach((point, i) => {
      const x0 = p.left + scale.x(point.at);
      const x1 = p.left + scale.x(points[i + 1]?.at ?? scale.span.end);
      if (x1 < p.left || x0 > p.width) return;
      pen.globalAlpha = 0.16;
      pen.fillRect(x0, y(point.mean), Math.max(x1 - x0, 1), y(series.low) - y(point.mean));
      pen.globalAlpha = 0.4;
      if (point.max > point.min) pen.fillRect(x0, y(point.max), Math.max(Math.min(x1 - x0, 2), 1), y(point.min) - y(point.max));
      pen.moveTo(x0, y(point.mean));
      pen.lineTo(x1, y(point.mean));
    });
    pen.globalAlpha = 1;
    pen.stroke();
  }
}

/** One chart below the other from y on, with their names and largest values at the left. */
export function paintCharts(p: Picture, all: readonly Series[], y: number): void {
  const { pen, inks } = p;
  const shown = all.slice(0, CHARTS);
  pen.fillStyle = inks.paper;
  pen.fillRect(0, y, p.width, shown.length * CHART);
  shown.forEach((series, i) => {
    const top = y + i * CHART;
    pen.save();
    pen.beginPath();
    pen.rect(p.left, top, p.width - p.left, CHART);
    pen.clip();
    paintSeries(p, series, top);
    pen.restore();
    setFont(pen);
    pen.fillStyle = inks.ink;
    write(pen, series.name, 20, top + 12, p.left - 26);
    pen.fillStyle = inks.soft;
    const more = i === CHARTS - 1 && all.length > CHARTS ? `, and ${all.length - CHARTS} more counters` : "";
    write(pen, `${amount(series.low, "")} to ${amount(series.high, "")}${more}`, 20, top + 27, p.left - 26);
    pen.fillStyle = inks.line;
    pen.fillRect(0, top + CHART - 1, p.width, 1);
  });
}
