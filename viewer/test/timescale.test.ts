// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { clamp, length, moment, niceStep, pan, range, ruler, Scale, SHORTEST, zoom } from "../src/data/timescale";

const whole = { begin: 0, end: 10 };

describe("zoom and pan", () => {
  it("keeps the position of the time at the pointer", () => {
    const span = zoom({ begin: 2, end: 6 }, 3, 0.5, whole);
    expect(span).toEqual({ begin: 2.5, end: 4.5 });
    expect(new Scale(span, 800).x(3)).toBeCloseTo(new Scale({ begin: 2, end: 6 }, 800).x(3));
  });
  it("shows at most the whole run, and at least the shortest range", () => {
    expect(zoom({ begin: 2, end: 6 }, 3, 100, whole)).toEqual(whole);
    const span = zoom({ begin: 2, end: 6 }, 3, 1e-30, whole);
    expect(length(span)).toBeCloseTo(SHORTEST, 12);
    expect(span.begin).toBeCloseTo(3, 6);
  });
  it("stops at the ends with the length unchanged", () => {
    expect(pan({ begin: 2, end: 6 }, -5, whole)).toEqual({ begin: 0, end: 4 });
    expect(pan({ begin: 2, end: 6 }, 50, whole)).toEqual({ begin: 6, end: 10 });
    expect(clamp({ begin: -3, end: 40 }, whole)).toEqual(whole);
  });
  it("accepts a run of duration 0", () => {
    const none = { begin: 0, end: 0 };
    expect(length(clamp(none, none))).toBeGreaterThanOrEqual(0);
    expect(new Scale(none, 100).x(0)).toBe(0);
  });
  it("orders the ends of a range and limits it", () => {
    expect(range(4, 2, whole)).toEqual({ begin: 2, end: 4 });
    expect(range(-4, 2, whole)).toEqual({ begin: 0, end: 2 });
    expect(range(11, 12, whole)).toBeUndefined();
  });
  it("converts to pixels and back", () => {
    const scale = new Scale({ begin: 2, end: 6 }, 800);
    expect(scale.x(4)).toBe(400);
    expect(scale.time(400)).toBe(4);
    expect(scale.pixel).toBe(0.005);
  });
});

describe("the ruler", () => {
  it("has steps of 1, 2 and 5, and whole minutes and hours", () => {
    expect(niceStep(0.0123)[0]).toBeCloseTo(0.02);
    expect(niceStep(0.02)[0]).toBeCloseTo(0.02);
    expect(niceStep(3)[0]).toBe(5);
    expect(niceStep(45)[0]).toBe(60);
    expect(niceStep(4000)[0]).toBe(7200);
  });
  it("has one unit, which fits the visible range", () => {
    expect(ruler({ begin: 0, end: 10 }, 1000).ticks.map((t) => t.label).slice(0, 3)).toEqual(["0", "1 s", "2 s"]);
    expect(ruler({ begin: 0, end: 0.01 }, 1000).ticks[3]!.label).toBe("3 ms");
    expect(ruler({ begin: 0, end: 2e-6 }, 1000).ticks[1]!.label).toBe("0.2 µs");
    expect(ruler({ begin: 0, end: 3e-7 }, 1000).ticks[1]!.label).toBe("50 ns");
    expect(ruler({ begin: 0, end: 7200 }, 1000).ticks[1]!.label).toBe("15 min");
  });
  it("does not repeat digits that all labels share", () => {
    const found = ruler({ begin: 12.345678, end: 12.345713 }, 1000);
    expect(found.anchorLabel).toBe("12.345\u20096 s"); // the resolution of the visible range: 100 µs
    expect(found.ticks.every((t) => t.label.startsWith("+") && t.label.endsWith("µs"))).toBe(true);
    expect(new Set(found.ticks.map((t) => t.label)).size).toBe(found.ticks.length);
    for (const { time, label } of found.ticks) expect(found.anchor + Number.parseFloat(label) * 1e-6).toBeCloseTo(time, 9);
  });
  it("has separate, different and short labels at every zoom", () => {
    for (let e = -8; e <= 5; e += 0.37)
      for (const begin of [0, 0.3331, 17.77, 86000]) {
        const found = ruler({ begin, end: begin + 10 ** e }, 1200);
        const scale = new Scale({ begin, end: begin + 10 ** e }, 1200);
        expect(found.ticks.length).toBeGreaterThan(0);
        expect(new Set(found.ticks.map((t) => t.label)).size).toBe(found.ticks.length);
        found.ticks.forEach((tick, i) => {
          expect(tick.label.length).toBeLessThan(12);
          if (i) expect(scale.x(tick.time) - scale.x(found.ticks[i - 1]!.time)).toBeGreaterThan(80);
        });
      }
  });
  it("is empty if it is too narrow", () => {
    expect(ruler({ begin: 1, end: 1 }, 100).ticks).toEqual([]);
    expect(ruler({ begin: 0, end: 1 }, 0).ticks).toEqual([]);
  });
  it("formats a time with the necessary digits", () => {
    expect(moment(0.00123451, 1e-6)).toBe("1.235 ms");
    expect(moment(12.5, 0.1)).toBe("12.5 s");
  });
});
