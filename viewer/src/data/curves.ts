// SPDX-License-Identifier: BSD-3-Clause
// Curves over time of metrics, which are read at each enter and leave, and of the program's counters.
import { type Columns, NONE } from "./columns";
import type { Facts, Metric } from "./facts";
import type { Params } from "./source";
import type { Span } from "./timescale";
import { byteUnit } from "./units";
import { scaleOf } from "./weight";

export const PIXELS = 1024; // number of intervals of the time range, each with a value
export const MAX_CURVES = 64; // maximum of threads with separate curves; for more threads there is the sum

/** The shape of a curve between two points. */
export type Shape = "steps" | "line";

/** Values in order of time. rate: growth per second since the previous value; undefined if the metric does not grow. low, high: smallest
 * and largest value since then, or for a growing metric smallest and largest growth per second. */
export interface Curve {
  location: number; // NONE: the sum of all threads
  shape: Shape;
  at: Float64Array;
  value: Float64Array;
  rate?: Float64Array;
  low: Float64Array;
  high: Float64Array;
}

/** The parameters of the query. The one-file page has answers for exactly these parameters. */
export function metricParams(facts: Facts, span: Partial<Span>): Params<"metrics"> {
  return { ...span, pixels: PIXELS, over: facts.locations.length > MAX_CURVES ? "sum" : undefined };
}

/** Rows [first, end) of each location for an index in a column. */
function runs(of: Uint32Array, location: Uint32Array, index: number): [number, number, number][] {
  const found: [number, number, number][] = [];
  for (let i = 0; i < of.length; ) {
    const first = i;
    while (i < of.length && of[i] === of[first] && location[i] === location[first]) i++;
    if (of[first] === index) found.push([location[first]!, first, i]);
  }
  return found;
}

/** The curves of a metric, in its unit. */
export function metricCurves(columns: Columns<"metrics">, metric: Metric, index: number): Curve[] {
  const by = scaleOf(metric);
  const part = (name: "value" | "mean" | "low" | "high", first: number, end: number): Float64Array => columns.get(name).subarray(first, end).map((value) => value * by);
  return runs(columns.get("metric"), columns.get("location"), index).map(([location, first, end]) => ({
    location,
    shape: "line",
    at: columns.get("at").slice(first, end),
    value: part("value", first, end),
    rate: part("mean", first, end),
    low: part("low", first, end),
    high: part("high", first, end),
  }));
}

/** The curves of a counter. */
export function counterCurves(columns: Columns<"counters">, name: string): Curve[] {
  const index = columns.meta.names.indexOf(name);
  return runs(columns.get("counter"), columns.get("location"), index).map(([location, first, end]) => ({
    location,
    shape: "steps",
    at: columns.get("at").slice(first, end),
    value: columns.get("mean").slice(first, end),
    low: columns.get("min").slice(first, end),
    high: columns.get("max").slice(first, end),
  }));
}

/** The last point at or before a time; -1: there is no such point. */
export function before(curve: Curve, moment: number): number {
  let low = 0;
  let high = curve.at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.at[middle]! <= moment) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The value at a time; 0 before the first point. */
export function valueAt(curve: Curve, moment: number): number {
  const i = before(curve, moment);
  if (i < 0) return 0;
  const { at, value } = curve;
  if (curve.shape === "steps" || i + 1 >= at.length) return value[i]!;
  return value[i]! + ((value[i + 1]! - value[i]!) * (moment - at[i]!)) / (at[i + 1]! - at[i]!);
}

/** Growth per second at a time; 0 before the first point and after the last one. */
export function rateAt(curve: Curve, moment: number): number {
  const i = before(curve, moment);
  return i < 0 || i + 1 >= curve.at.length || !curve.rate ? 0 : curve.rate[i + 1]!;
}

/** The sum of all curves at the edges of equal intervals of the span; for levels the largest value. Growth is that of each interval, as the
 * growth between two close readings would be dominated by the resolution of the clock. */
export function sumOf(curves: readonly Curve[], span: Span, level: boolean, parts = PIXELS): Curve | undefined {
  const [first] = curves;
  if (!first) return undefined;
  const step = (span.end - span.begin) / parts;
  const at = Float64Array.from({ length: parts + 1 }, (_, i) => span.begin + i * step);
  const value = at.map((moment) => curves.reduce((sum, curve) => (level ? Math.max(sum, valueAt(curve, moment)) : sum + valueAt(curve, moment)), 0));
  const rate = value.map((now, i) => (i ? (now - value[i - 1]!) / step : Number.NaN));
  return { location: NONE, shape: first.shape, at, value, ...(first.rate && { rate }), low: first.rate ? rate : value, high: first.rate ? rate : value };
}

/** One curve with the same points as sumOf(). */
export function evened(curve: Curve, span: Span, parts = PIXELS): Curve {
  return { ...sumOf([curve], span, false, parts)!, location: curve.location };
}

/** The points to draw of a curve within a span. rates: of the growth, in steps from one reading to the next. */
export function drawn(curve: Curve, span: Span, rates: boolean): { at: number[]; value: number[]; shape: Shape } {
  const from = Math.max(before(curve, span.begin), 0);
  const at: number[] = [];
  const value: number[] = [];
  for (let i = from; i < curve.at.length; i++) {
    const last = i + 1 === curve.at.length;
    at.push(curve.at[i]!);
    value.push(rates ? (last ? 0 : curve.rate![i + 1]!) : curve.value[i]!);
    if (curve.at[i]! >= span.end) break;
  }
  return { at, value, shape: rates ? "steps" : curve.shape };
}

/** The smallest and the largest value that is drawn; the range includes 0. */
export function extent(curves: readonly Curve[], span: Span, rates: boolean): [number, number] {
  let low = 0;
  let high = 0;
  for (const curve of curves)
    for (const value of drawn(curve, span, rates).value) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  return [low, high];
}

/** About `about` round numbers from low to high. */
export function ticks(low: number, high: number, about: number): number[] {
  const rough = (high - low) / Math.max(about, 1);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * 0.999) ?? 10 * power;
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) found.push(i * step || 0);
  return found;
}

/** As ticks(), at powers of two: 1, 2, 4, 8 … of a binary unit. */
export function byteTicks(low: number, high: number, about: number): number[] {
  const rough = (high - low) / Math.max(about, 1);
  if (!(rough > 0)) return [low];
  const step = 2 ** Math.ceil(Math.log2(Math.max(rough, 1)) - 1e-9);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor((high * (1 + 1e-9)) / step) - first + 1 }, (_, i) => (first + i) * step || 0);
}

/** The label of a tick of an axis up to `largest` bytes; all have the same unit. */
export function byteTick(value: number, largest: number): string {
  const unit = byteUnit(largest);
  return value === 0 ? "0" : `${value / unit.size} ${unit.name}`;
}
