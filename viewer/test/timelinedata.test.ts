// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, pack, parse } from "../src/data/columns";
import type { Facts } from "../src/data/facts";
import { Control, press } from "../src/timeline/control";
import { barAt, blockAt, cellAt, depthIn, neighbour, Overview, pathAt, Stack, stackAt, type TimelineData, waitedIn } from "../src/timeline/data";
import { type Asked, TILE } from "../src/timeline/cache";
import { LANE } from "../src/data/rows";
import { MINI, RULER } from "../src/timeline/head";

// f 0-8 calls g 1-3, g 4-5 and, in 6-7, ten calls that are too short to draw, mostly of h
const stack = new Stack(
  parse(
    pack(
      { depth: 2, exact: false },
      {
        begin: Float64Array.of(0, 1, 4, 6),
        end: Float64Array.of(8, 3, 5, 7),
        depth: Uint32Array.of(0, 1, 1, 1),
        region: Uint32Array.of(10, 11, 11, 12),
        calls: Uint32Array.of(1, 1, 1, 10),
        busy: Float32Array.of(1, 1, 1, 0.5),
      },
    ),
  ),
);
const whole = { begin: 0, end: 8 };
const asked: Asked<Stack> = { complete: true, pieces: [{ value: stack, level: 0, ...whole, exact: true }] };

describe("a call stack", () => {
  it("finds the call at a time, and the calls in a range", () => {
    expect(stack.lanes).toBe(2);
    expect(stack.within(1, 2, 5)).toEqual([1, 3]);
    expect(stack.within(1, 3, 4)).toEqual([2, 2]);
    expect(stack.within(2, 0, 9)).toEqual([0, 0]);
    expect(blockAt(asked, 1, 2, 0)).toMatchObject({ begin: 1, end: 3, region: 11, calls: 1 });
    expect(blockAt(asked, 1, 3.5, 0)).toBeUndefined();
    expect(blockAt(asked, 1, 3.4, 0.5)).toMatchObject({ begin: 1 });
    expect(blockAt(asked, 1, 6.5, 0)).toMatchObject({ region: 12, calls: 10, busy: 0.5 });
  });
  it("has the path of a call, but not of a combined block", () => {
    expect(pathAt(asked, 1, blockAt(asked, 1, 4.5, 0)!)).toEqual([10, 11]);
    expect(pathAt(asked, 1, blockAt(asked, 1, 6.5, 0)!)).toBeUndefined();
  });
  it("has the callers of a depth, with their paths up to a combined block", () => {
    expect(stackAt(asked, 2, 4.5)).toEqual([{ region: 10, calls: 1, path: [10] }, { region: 11, calls: 1, path: [10, 11] }]);
    expect(stackAt(asked, 2, 6.5)[1]).toEqual({ region: 12, calls: 10, path: undefined });
    expect(stackAt(asked, 0, 4.5)).toEqual([]);
  });
  it("finds adjacent calls, and the depth of a range", () => {
    const g = blockAt(asked, 1, 4.5, 0)!;
    expect(neighbour(asked, 1, g, 1)).toMatchObject({ begin: 6 });
    expect(neighbour(asked, 1, g, -1)).toMatchObject({ begin: 1 });
    expect(neighbour(asked, 1, neighbour(asked, 1, g, -1)!, -1)).toBeUndefined();
    expect(depthIn(asked, { begin: 3.2, end: 3.8 })).toBe(1);
    expect(depthIn(asked, whole)).toBe(2);
    expect(depthIn(undefined, whole)).toBe(0);
  });
});

describe("an overview", () => {
  const columns = parse<"overview">(
    pack(
      {},
      {
        location: Uint32Array.of(64, 65, 200),
        bucket: Uint32Array.of(0, 512, 3),
        region: Uint32Array.of(7, 9, 9),
        share: Float32Array.of(1, 0.5, 1),
        events: Uint32Array.of(2, 4, 1),
        waiting: Float32Array.of(0.25, 0, 1),
      },
    ),
  );
  const tile = new Overview(64, 2, columns);
  it("has the region that ran longest in a column, only for its locations", () => {
    const all = { complete: true, pieces: [{ value: tile, level: 0, ...whole, exact: true }] };
    expect(cellAt(all, 64, 0.001, whole)).toMatchObject({ region: 7, share: 1, events: 2, waiting: 64 / 255, begin: 0, end: 8 / TILE });
    expect(cellAt(all, 65, 4.001, whole)!.share).toBeCloseTo(0.5, 2);
    expect(cellAt(all, 65, 1, whole)!.region).toBe(NONE);
  });
  // location 0: region 5 in the last quarter of the first tile and the first quarter of the second one, where it waits for half of the time
  const half = (from: number, to: number, waiting: number): Overview => {
    const n = to - from;
    const all = <T extends Uint32Array | Float32Array>(array: T, value: number): T => array.fill(value) as T;
    const bucket = Uint32Array.from({ length: n }, (_, i) => from + i);
    const [region, events] = [all(new Uint32Array(n), 5), new Uint32Array(n)];
    return new Overview(0, 1, parse(pack({}, { location: new Uint32Array(n), bucket, region, share: all(new Float32Array(n), 1), events, waiting: all(new Float32Array(n), waiting) })));
  };
  const two: Asked<Overview> = {
    complete: true,
    pieces: [
      { value: half((TILE * 3) / 4, TILE, 0), level: 1, begin: 0, end: 4, exact: true },
      { value: half(0, TILE / 4, 0.5), level: 1, begin: 4, end: 8, exact: true },
    ],
  };
  it("has a bar of adjacent columns with the same region, also where tiles meet", () => {
    expect(barAt(two, 0, 4.2, whole)).toEqual({ begin: 3, end: 5 });
    expect(barAt(two, 0, 3.2, whole)).toEqual({ begin: 3, end: 5 });
    expect(barAt(two, 0, 2, whole)).toBeUndefined();
  });
  it("knows how long a location waited in a span", () => {
    const { waited, known } = waitedIn(two, 0, { begin: 3.5, end: 4.5 }, whole);
    expect(known).toBeCloseTo(1);
    expect(waited).toBeCloseTo(0.25, 2);
    expect(waitedIn(two, 0, { begin: 7, end: 20 }, whole)).toEqual({ waited: 0, known: 1 });
    expect(waitedIn(undefined, 0, whole, whole)).toEqual({ waited: 0, known: 0 });
  });
});

describe("the control", () => {
  const facts = {
    duration: 8,
    processes: [{ rank: 0 }, { rank: 1 }],
    locations: [0, 1].map((process) => ({ process, name: "MainThread" })),
  } as unknown as Facts;
  const make = (): Control => {
    const control = new Control(facts, { whole, markers: [] } as unknown as TimelineData, [], undefined, undefined);
    control.width = 800 + control.left;
    control.height = 300;
    control.answered({ overviews: new Map(), crowds: new Map(), steps: new Map(), stacks: new Map([["0", asked]]) });
    return control;
  };
  it("zooms, moves and shows the whole run by keys", () => {
    const control = make();
    press(control, "+");
    expect(control.span.end - control.span.begin).toBeCloseTo(8 / 1.5);
    const { begin } = control.span;
    press(control, "d");
    expect(control.span.begin).toBeGreaterThan(begin);
    press(control, "0");
    expect(control.span).toEqual(whole);
    expect(press(control, "x")).toBe(false);
  });
  it("moves the focus between rows, into an open row, and between calls", () => {
    const control = make();
    press(control, "ArrowDown");
    expect(control.focus).toMatchObject({ row: 0, lane: -1 });
    control.toggle(0);
    control.focus = { row: 0, lane: 1, time: 2 };
    press(control, "ArrowRight");
    expect(control.focus).toMatchObject({ lane: 1, time: 4.5 });
    press(control, "ArrowDown");
    expect(control.focus).toMatchObject({ row: 1, lane: -1 });
    press(control, "ArrowUp");
    expect(control.focus).toMatchObject({ row: 0, lane: 1 });
  });
  it("goes to a location and time: in an open row to the innermost call, otherwise to the row", () => {
    const control = make();
    control.goTo(0, 2);
    expect(control.focus).toEqual({ row: 0, lane: -1, time: 2 });
    control.toggle(0);
    control.goTo(0, 2);
    expect(control.focus).toEqual({ row: 0, lane: 1, time: 2 });
    control.goTo(0, 7.5);
    expect(control.focus).toEqual({ row: 0, lane: 0, time: 7.5 });
    press(control, "+");
    press(control, "+");
    control.goTo(1, 0.5);
    expect(control.focus).toEqual({ row: 1, lane: -1, time: 0.5 });
    expect(control.span.begin).toBeLessThan(0.5);
  });
  it("selects a range with shift or on the ruler, otherwise pans", () => {
    const control = make();
    const y = control.top + 5;
    expect(control.dragTo({ x: control.left + 100, y }, { x: control.left + 300, y }, true, true)).toEqual({ begin: 1, end: 3 });
    expect(control.dragTo({ x: control.left + 300, y: MINI + 3 }, { x: control.left + 100, y }, true, false)).toEqual({ begin: 1, end: 3 });
    press(control, "+");
    const { begin } = control.span;
    expect(control.dragTo({ x: control.left + 300, y }, { x: control.left + 200, y }, true, false)).toBeUndefined();
    expect(control.span.begin).toBeGreaterThan(begin);
  });
  it("finds the element at a point", () => {
    const control = make();
    control.toggle(0);
    expect(control.hit(300, 3).zone).toBe("mini");
    expect(control.hit(300, MINI + 1).zone).toBe("ruler");
    expect(control.hit(10, MINI + RULER + 1)).toMatchObject({ zone: "gutter", row: 0, lane: -1 });
    const at = control.hit(control.left + 200, control.top + control.layout.row + LANE + 2);
    expect(at).toMatchObject({ zone: "rows", row: 0, lane: 1, time: 2 });
    expect(control.block(at)).toMatchObject({ region: 11 });
    expect(control.hit(300, 290).row).toBe(-1);
  });
  it("knows what is at the pointer also after a zoom", () => {
    const control = make();
    const at = { x: control.left + 200, y: control.top + 5 };
    control.hover = { ...control.hit(at.x, at.y), clientX: 7, clientY: 8 };
    expect(control.hover.time).toBe(2);
    control.span = { begin: 4, end: 8 };
    control.follow();
    expect(control.hover).toMatchObject({ time: 5, row: 0, clientX: 7, clientY: 8 });
  });
});
