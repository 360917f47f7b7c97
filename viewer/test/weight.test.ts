// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";
import type { Facts, Metric } from "../src/data/facts";
import { treeIn } from "../src/calltree/tree";
import { amountOf, chosenMetric, columnOf, rateOf, TIME, timed, weightOf, without } from "../src/data/weight";

const metric = (name: string, unit: string, exponent = 0, more: Partial<Metric> = {}): Metric => ({
  name,
  unit,
  exponent,
  what: "",
  exclusive: false,
  level: false,
  source: "rusage",
  total: 10,
  ...more,
});
const faults = metric("ru_minflt", "#");
const cpu = metric("ru_utime", "s", -6);
const read = metric("io_bytes_read", "byte", 0, { exclusive: true });

describe("amounts of metrics", () => {
  it("have the unit of the metric", () => {
    expect(amountOf(faults, 3021)).toBe("3,021");
    expect(amountOf(cpu, 0.0123)).toBe("12.3 ms");
    expect(amountOf(read, 3 * 2 ** 20)).toBe("3.00 MiB");
    expect(amountOf(metric("ru_maxrss", "kB"), 12)).toBe("12 kB");
  });
  it("grow per second", () => {
    expect(rateOf(faults, 12)).toBe("12 per second");
    expect(rateOf(read, 2048)).toBe("2.00 KiB/s");
    expect(rateOf(cpu, 0.5)).toBe("0.50"); // of a processor
    expect(rateOf(cpu, Number.NaN)).toBe("–");
  });
  it("have one unit in a column", () => {
    expect(columnOf(cpu, 0.02).name).toBe("ms");
    expect(columnOf(faults, 5000)).toEqual({ size: 1, name: "" });
    expect(columnOf(metric("instructions", "#"), 3e9).name).toBe("G");
  });
});

const columns = () =>
  parse<"tree">(
    pack(
      { paths: 3 },
      {
        parent: Uint32Array.of(0xffffffff, 0, 0),
        region: Uint32Array.of(1, 2, 3),
        hidden: new Uint32Array(3),
        visits: Float64Array.of(1, 2, 3),
        incl: Float64Array.of(9, 2, 1),
        excl: Float64Array.of(6, 2, 1),
        "metric:ru_utime:incl": Float64Array.of(5e6, 3e6, 1e6),
        "metric:ru_utime:excl": Float64Array.of(1e6, 3e6, 1e6),
      },
    ),
  );

describe("a weighted tree", () => {
  it("has widths and values of the metric, in its unit", () => {
    const tree = treeIn(columns(), weightOf(cpu));
    expect([...tree.incl]).toEqual([5, 3, 1]);
    expect(tree.total).toBe(5);
    expect(tree.weight.show(tree.total)).toBe("5.00 s");
    expect(treeIn(columns()).total).toBe(9);
    expect(weightOf(cpu)).toBe(weightOf(cpu));
    expect(weightOf(undefined)).toBe(TIME);
  });
});

describe("the choice", () => {
  const facts = { metrics: [faults, read], locations: [{ busy: 3 }], has: { compare: false } } as unknown as Facts;
  it("is the metric of the selection", () => {
    expect(chosenMetric(facts, { view: "icicle" })).toBeUndefined();
    expect(chosenMetric(facts, { view: "icicle", metric: "ru_minflt" })).toBe(faults);
    expect(chosenMetric(facts, { view: "icicle", metric: "speed" })).toBeUndefined();
  });
  it("is the first metric with values if there are no times, preferably peak_bytes", () => {
    const untimed = { ...facts, locations: [{ busy: 0 }], metrics: [{ ...faults, total: 0 }, read, metric("peak_bytes", "B")] } as unknown as Facts;
    expect([timed(facts), timed(untimed), timed({ ...untimed, metrics: [] })]).toEqual([true, false, true]);
    expect(chosenMetric(untimed, { view: "icicle" })?.name).toBe("peak_bytes");
    expect(chosenMetric(untimed, { view: "icicle", metric: read.name })).toBe(read);
    expect(chosenMetric({ ...untimed, metrics: untimed.metrics.slice(0, 2) }, { view: "icicle" })).toBe(read);
  });
  it("of sampled times is available within a range of time, but not the number of samples", () => {
    const of = (name: string, unit: string) => without(facts, { view: "icicle", begin: 1, end: 2 }, metric(name, unit, 0, { exclusive: true, source: "sample" }));
    expect(of("sampled_idle", "s")).toBeUndefined();
    expect(of("samples", "#")).toContain("range of time");
  });
  it("reports why a metric is unavailable", () => {
    expect(without(facts, { view: "icicle", begin: 1, end: 2 }, read)).toContain("range of time");
    expect(without(facts, { view: "icicle", begin: 1, end: 2 }, faults)).toBeUndefined();
    expect(without(facts, { view: "icicle" }, { ...faults, total: 0 })).toContain("no values");
    expect(chosenMetric({ ...facts, has: { compare: true } } as unknown as Facts, { view: "icicle", metric: "ru_minflt" })).toBeUndefined();
  });
});
