// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";
import { type Curve, before, byteTick, byteTicks, counterCurves, drawn, evened, extent, metricCurves, metricParams, PIXELS, rateAt, sumOf, ticks, valueAt } from "../src/data/curves";
import type { Facts, Metric } from "../src/data/facts";
import { metricSeries } from "../src/timeline/charts";

const metric = (name: string, more: Partial<Metric> = {}): Metric => ({ name, unit: "#", exponent: 0, what: "", exclusive: false, level: false, source: "rusage", total: 9, ...more });
// location, metric, at, value
const columns = (rows: [number, number, number, number][]) => {
  const rate = rows.map(([l, m, at, value], i) => {
    const was = rows[i - 1];
    return was && was[0] === l && was[1] === m ? (value - was[3]) / (at - was[2]) : Number.NaN;
  });
  const of = (name: number) => rows.map((row) => row[name]!);
  return parse<"metrics">(
    pack(
      { rows: 2 },
      {
        location: Uint32Array.from(of(0)),
        metric: Uint32Array.from(of(1)),
        at: Float64Array.from(of(2)),
        value: Float64Array.from(of(3)),
        low: Float64Array.from(rate),
        high: Float64Array.from(rate),
        mean: Float64Array.from(rate),
      },
    ),
  );
};
const two = columns([
  [0, 0, 0, 0],
  [0, 0, 4, 8],
  [0, 1, 0, 5],
  [1, 0, 2, 0],
  [1, 0, 3, 6],
]);
const span = { begin: 0, end: 4 };

describe("curves", () => {
  it("are those of one metric in each thread, in its unit", () => {
    const curves = metricCurves(two, metric("cpu", { exponent: -1 }), 0);
    expect(curves.map((curve) => curve.location)).toEqual([0, 1]);
    expect([...curves[0]!.value]).toEqual([0, 0.8]);
    expect(curves[0]!.rate![1]).toBeCloseTo(0.2);
    expect(metricCurves(two, metric("x"), 7)).toEqual([]);
  });
  it("are linear between readings, and constant before and after them", () => {
    const [, curve] = metricCurves(two, metric("faults"), 0) as [Curve, Curve];
    expect([1, 2, 2.5, 3, 9].map((at) => valueAt(curve, at))).toEqual([0, 0, 3, 6, 6]);
    expect([1, 2.5, 3.5].map((at) => rateAt(curve, at))).toEqual([0, 6, 0]);
    expect(before(curve, 1.9)).toBe(-1);
  });
  it("of counters are constant until the next value", () => {
    const counters = parse<"counters">(
      pack(
        { names: ["queue"] },
        {
          location: Uint32Array.of(0, 0),
          counter: Uint32Array.of(0, 0),
          at: Float64Array.of(1, 3),
          min: Float64Array.of(5, 7),
          max: Float64Array.of(5, 7),
          mean: Float64Array.of(5, 7),
        },
      ),
    );
    const [curve] = counterCurves(counters, "queue") as [Curve];
    expect([0, 1, 2.9, 3].map((at) => valueAt(curve, at))).toEqual([0, 5, 5, 7]);
    expect(counterCurves(counters, "load")).toEqual([]);
  });
  it("have a sum; for levels the largest value", () => {
    const curves = metricCurves(two, metric("faults"), 0);
    const sum = sumOf(curves, span, false)!;
    expect(sum.at.length).toBe(PIXELS + 1);
    expect(valueAt(sum, 4)).toBe(14);
    expect(rateAt(sum, 2.5)).toBeCloseTo(8);
    expect(valueAt(sumOf(curves, span, true)!, 4)).toBe(8);
    expect(sumOf([], span, false)).toBeUndefined();
    expect(evened(curves[1]!, span).location).toBe(1);
  });
  it("are drawn from the reading before a span to the one after it", () => {
    const [curve] = metricCurves(two, metric("faults"), 0) as [Curve];
    expect(drawn(curve, { begin: 1, end: 2 }, false)).toEqual({ at: [0, 4], value: [0, 8], shape: "line" });
    expect(drawn(curve, { begin: 1, end: 2 }, true)).toEqual({ at: [0, 4], value: [2, 0], shape: "steps" });
    expect(extent([curve], span, true)).toEqual([0, 2]);
  });
  it("have round numbers at the axis", () => {
    expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(-1, 1, 4)).toEqual([-1, -0.5, 0, 0.5, 1]);
    expect(ticks(3, 3, 5)).toEqual([3]);
  });
  it("have powers of two at an axis of bytes, in one unit", () => {
    const MiB = 2 ** 20;
    expect(byteTicks(0, 30 * MiB, 4).map((v) => v / MiB)).toEqual([0, 8, 16, 24]);
    expect(byteTicks(0, 1.2 * MiB, 3).map((v) => byteTick(v, 1.2 * MiB))).toEqual(["0", "0.5 MiB", "1 MiB"]);
    expect(byteTicks(0, 700, 4).map((v) => byteTick(v, 700))).toEqual(["0", "256 B", "512 B"]);
    expect(byteTicks(0, 3, 8)).toEqual([0, 1, 2, 3]);
    expect(byteTicks(5, 5, 4)).toEqual([5]);
    for (const high of [1e3, 1e6, 3.3e9, 2 ** 40]) {
      const found = byteTicks(0, high, 5);
      expect(Math.log2(found[1]!) % 1).toBe(0);
      expect(found.length).toBeGreaterThan(2);
      expect(found.length).toBeLessThanOrEqual(6);
    }
  });
});

describe("charts of metrics", () => {
  const facts = { metrics: [metric("faults"), metric("rss", { level: true }), metric("none", { total: 0 })], locations: [{}, {}] } as unknown as Facts;
  it("continue from tile to tile", () => {
    const piece = (value: ReturnType<typeof columns>, begin: number, end: number) => ({ value, level: 1, begin, end, exact: true });
    const next = columns([
      [0, 0, 4, 8],
      [0, 0, 8, 8],
    ]);
    const [faults, rss] = metricSeries({ complete: true, pieces: [piece(two, 0, 4), piece(next, 4, 8)] }, { begin: 0, end: 8 }, facts);
    const points = faults!.of.get(0)!;
    expect(points.map((point) => point.at)).toEqual([...points.map((point) => point.at)].sort((a, b) => a - b));
    expect([points[0]!.mean, points[points.length - 1]!.mean]).toEqual([2, 0]);
    expect(faults!.high).toBeCloseTo(6);
    expect([rss!.title, rss!.of.get(0)!.map((point) => point.mean)]).toEqual(["rss", [5]]);
    expect(metricSeries(undefined, span, facts)).toEqual([]);
  });
  it("query the sum if there are many threads", () => {
    expect(metricParams(facts, {})).toEqual({ pixels: PIXELS, over: undefined });
    expect(metricParams({ ...facts, locations: Array(100).fill({}) } as unknown as Facts, { begin: 1 })).toEqual({ begin: 1, pixels: PIXELS, over: "sum" });
  });
});
