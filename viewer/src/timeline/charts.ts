// SPDX-License-Identifier: BSD-3-Clause
// Charts above the rows of a timeline: values of the program's counters over all threads that set them, and growth of metrics in each
// thread.
import type { Picture } from "./picture";
import type { Columns } from "../data/columns";
import { type Curve, MAX_CURVES, evened, metricCurves } from "../data/curves";
import type { Facts, Metric } from "../data/facts";
import { setFont, write } from "../draw/ink";
import type { Asked } from "./cache";
import type { Span } from "../data/timescale";
import { amount } from "../data/units";
import { amountOf, rateOf } from "../data/weight";

export const CHART = 38; // px; height of a chart
export const CHARTS = 6; // maximum of charts, to leave space for rows
const PARTS = 512; // parts of a tile, each with its growth

export interface Point {
  at: number;
  min: number;
  max: number;
  mean: number;
}
export interface Series {
  name: string;
  title: string;
  kind: "counter" | "metric";
  show: (value: number) => string;
  of: Map<number, Point[]>; // by location, in order of time
  low: number;
  high: number;
}

/** The series of the counters in the tiles, by name, with the smallest and largest value in the span. */
export function seriesOf(asked: Asked<Columns<"counters">> | undefined, span: Span): Series[] {
  const found = new Map<string, Series>();
  for (const piece of asked?.pieces ?? []) {
    if (!piece.exact && asked!.pieces.some((other) => other !== piece && other.begin <= piece.begin && other.end >= piece.end)) continue;
    const c = piece.value;
    const { names } = c.meta;
    const [counter, location, at] = [c.get("counter"), c.get("location"), c.get("at")];
    const [min, max, mean] = [c.get("min"), c.get("max"), c.get("mean")];
    for (let i = 0; i < at.length; i++) {
      const name = names[counter[i]!] ?? "";
      let series = found.get(name);
      if (!series) found.set(name, (series = { name, title: `counter ${name}`, kind: "counter", show: (value) => amount(value, ""), of: new Map(), low: 0, high: 0 }));
      let points = series.of.get(location[i]!);
      if (!points) series.of.set(location[i]!, (points = []));
      // the first row of a tile repeats the last one before it, which is known from the previous tile
      if (points.length && points[points.length - 1]!.at >= at[i]!) continue;
      points.push({ at: at[i]!, min: min[i]!, max: max[i]!, mean: mean[i]! });
      if (at[i]! > span.end) continue;
      series.low = Math.min(series.low, min[i]!);
      series.high = Math.max(series.high, max[i]!);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The points of a curve: of a level its readings, of a growing metric the growth per second in each part of the tile. */
function pointsOf(curve: Curve, metric: Metric, tile: Span): Point[] {
  const point = (at: number, mean: number): Point => ({ at, min: mean, max: mean, mean });
  if (metric.level) return Array.from(curve.at, (at, i) => point(at, curve.value[i]!));
  const { at, rate } = evened(curve, tile, PARTS);
  return Array.from(at.subarray(0, PARTS), (moment, i) => point(moment, rate![i + 1]!));
}

function addPoints(series: Series, location: number, points: readonly Point[], span: Span): void {
  let known = series.of.get(location);
  if (!known) series.of.set(location, (known = []));
  for (const point of points) {
    const last = known[known.length - 1];
    if (last && last.at >= point.at) continue;
    known.push(point);
    if (point.at > span.end) continue;
    series.low = Math.min(series.low, point.mean);
    series.high = Math.max(series.high, point.mean);
  }
}

/** The series of the metrics in the tiles that have values. */
export function metricSeries(asked: Asked<Columns<"metrics">> | undefined, span: Span, facts: Facts): Series[] {
  const pieces = (asked?.pieces ?? []).filter(
    (piece) => piece.exact || !asked!.pieces.some((other) => other !== piece && other.begin <= piece.begin && other.end >= piece.end),
  );
  const all = facts.locations.length > MAX_CURVES ? (facts.metrics.length ? ", all threads" : "") : "";
  const found = facts.metrics.map((metric, index) => {
    const show = (value: number): string => (metric.level ? amountOf(metric, value) : rateOf(metric, value));
    const title = metric.level ? metric.name : metric.unit === "s" ? `${metric.name}, s per second` : `${metric.name} per second`;
    const series: Series = { name: metric.name, title: title + all, kind: "metric", show, of: new Map(), low: 0, high: 0 };
    if (!metric.exclusive && metric.total > 0)
      for (const piece of pieces)
        for (const curve of metricCurves(piece.value, metric, index)) addPoints(series, curve.location, pointsOf(curve, metric, piece), span);
    return series;
  });
  return found.filter((series) => series.of.size > 0);
}

/** The last value at or before a time; undefined: none. */
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

/** Draws one path for each thread, as there are as many points as pixels. */
function paintShapes(p: Picture, series: Series, y: (value: number) => number): void {
  const { pen, scale } = p;
  for (const points of series.of.values()) {
    pen.beginPath();
    points.forEach((point, i) => {
      const x = p.left + scale.x(point.at);
      if (i === 0) pen.moveTo(x, y(0));
      else pen.lineTo(x, y(points[i - 1]!.mean));
      pen.lineTo(x, y(point.mean));
    });
    const last = points[points.length - 1];
    if (!last) continue;
    const end = p.left + scale.x(Math.max(scale.span.end, last.at));
    pen.lineTo(end, y(last.mean));
    pen.globalAlpha = 0.7;
    pen.stroke();
    pen.lineTo(end, y(0));
    pen.globalAlpha = 0.16;
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function paintSeries(p: Picture, series: Series, top: number): void {
  const { pen, scale, inks } = p;
  const range = series.high - series.low || 1;
  const y = (value: number): number => top + CHART - 5 - ((value - series.low) / range) * (CHART - 12);
  pen.fillStyle = inks.accent;
  pen.strokeStyle = inks.accent;
  pen.lineWidth = 1;
  if (series.kind === "metric") return paintShapes(p, series, y);
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

/** Draws the charts from y downwards, with names and largest values at the left. */
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
    write(pen, series.kind === "metric" ? series.title : series.name, 20, top + 12, p.left - 26);
    pen.fillStyle = inks.soft;
    const more = i === CHARTS - 1 && all.length > CHARTS ? `, and ${all.length - CHARTS} more: see Metrics` : "";
    write(pen, `${series.show(series.low)} to ${series.show(series.high)}${more}`, 20, top + 27, p.left - 26);
    pen.fillStyle = inks.line;
    pen.fillRect(0, top + CHART - 1, p.width, 1);
  });
}
