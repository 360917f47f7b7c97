// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, pack, parse } from "../src/data/columns";
import { Scale } from "../src/data/timescale";
import { type Asked, TILE } from "../src/timeline/cache";
import { criticalLine } from "../src/timeline/critical";
import { Overview, Stack } from "../src/timeline/data";
import { fadeWaiting, fillLane, fillOverview, type Line } from "../src/timeline/draw";
import { type Label, merged, textOf } from "../src/timeline/labels";
import type { Part, Picture } from "../src/timeline/picture";

const label = (x0: number, x1: number, region: number, calls: number): Label => ({ x0, x1, y: 9, region, calls });

describe("labels of a line", () => {
  it("are one for combined calls of a function that touch where tiles meet", () => {
    const found = merged([label(100, 160, 3, 7), label(10, 99, 3, 5), label(161, 200, 4, 2)]);
    expect(found).toEqual([label(10, 160, 3, 12), label(161, 200, 4, 2)]);
    const p = { regions: { qualnames: ["", "", "", "f", "g"], names: [] } } as unknown as Picture;
    expect(found.map((one) => textOf(p, one))).toEqual(["12 × f", "2 × g"]);
  });
  it("stay apart for single calls, and for boxes with space between", () => {
    const calls = [label(0, 50, 3, 1), label(50, 100, 3, 1)];
    expect(merged(calls)).toEqual(calls);
    const boxes = [label(0, 50, 3, 4), label(60, 100, 3, 4)];
    expect(merged(boxes)).toEqual(boxes);
  });
  it("are one for parts of the overview, also if others are narrower than a few pixels between them", () => {
    expect(merged([label(0, 50, 3, 0), label(52, 90, 3, 0)])).toEqual([label(0, 90, 3, 0)]);
  });
});

describe("the labels of a row whose tiles meet in the middle", () => {
  const whole = { begin: 0, end: 8 };
  const halves = <T>(values: [T, T]): Asked<T> => ({
    complete: true,
    pieces: values.map((value, i) => ({ value, level: 1, begin: 4 * i, end: 4 * i + 4, exact: true })),
  });
  /** A picture of 800 pixels for 8 seconds. */
  const picture = (more: object): Picture =>
    ({
      whole,
      scale: new Scale(whole, 800),
      left: 0,
      width: 800,
      raster: { width: 800, pixels: new Uint32Array(1600) },
      palette: { pixel: (region: number) => region },
      base: (region: number) => region,
      inks: { paperPixel: 0 },
      layout: { row: 40 },
      overviews: new Map(),
      stacks: new Map(),
      blockOf: () => "0",
      ...more,
    }) as unknown as Picture;
  const line = (lane: number): Line => ({ row: { location: 0 } as Line["row"], lane, y: 100, high: 20 });

  // each row: begin, end, region, calls
  const stack = (rows: [number, number, number, number][]): Stack => {
    const column = (i: number) => rows.map((row) => row[i]!);
    const depth = new Uint32Array(rows.length);
    const busy = new Float32Array(rows.length).fill(1);
    return new Stack(parse(pack({ depth: 1, exact: false }, { begin: Float64Array.from(column(0)), end: Float64Array.from(column(1)), depth, region: Uint32Array.from(column(2)), calls: Uint32Array.from(column(3)), busy })));
  };

  it("join combined calls of a function, also of blocks that are a pixel wide", () => {
    const narrow = Array.from({ length: 100 }, (_, i): [number, number, number, number] => [2 + i / 100, 2 + (i + 1) / 100, 7, 10]);
    const stacks = new Map([["0", halves([stack([[0, 1, 7, 1], ...narrow, [3, 3.999, 7, 5]]), stack([[4.002, 5, 7, 3], [5, 6, 8, 2], [6, 7, 8, 1], [7, 8, 8, 1]])])]]);
    const labels = fillLane(picture({ stacks }), line(0), 0).sort((a, b) => a.x0 - b.x0);
    expect(labels.map(({ x0, x1, region, calls }) => [x0, x1, region, calls])).toEqual([
      [0, 100, 7, 1],
      [200, 500, 7, 1008],
      [500, 600, 8, 2],
      [600, 700, 8, 1],
      [700, 800, 8, 1],
    ]);
  });
  it("count a block once that both tiles have, and a call", () => {
    const stacks = new Map([["0", halves([stack([[1, 3, 8, 1], [3, 5, 7, 9]]), stack([[3, 5, 7, 9], [5, 8, 9, 1]])])]]);
    expect(fillLane(picture({ stacks }), line(0), 0).map(({ x0, x1, region, calls }) => [x0, x1, region, calls])).toEqual([
      [100, 300, 8, 1],
      [500, 800, 9, 1],
      [300, 500, 7, 9],
    ]);
  });
  it("is as pale where tiles share a pixel as elsewhere, if the location waited all the time", () => {
    const none = new Uint32Array(TILE);
    const tile: Overview = { first: 0, rows: 1, region: none, share: new Uint8Array(TILE), events: none, waiting: new Uint8Array(TILE).fill(255), bytes: 0 };
    const raster = { width: 801, pixels: new Uint32Array(801).fill(0xff0000ff) };
    fadeWaiting(picture({ overviews: new Map([["0", halves([tile, tile])]]), scale: new Scale(whole, 801), width: 801, raster }), 0, 0);
    expect(new Set(raster.pixels).size).toBe(1);
    expect(raster.pixels[0]).not.toBe(0xff0000ff);
  });
  it("join the parts of the overview", () => {
    const half = (from: number, to: number): Overview => {
      const value = new Overview(0, 1, parse(pack({}, { location: new Uint32Array(0), bucket: new Uint32Array(0), region: new Uint32Array(0), share: new Float32Array(0), events: new Uint32Array(0), waiting: new Float32Array(0) })));
      value.region.fill(NONE).fill(7, from, to);
      value.share.fill(255);
      return value;
    };
    const overviews = new Map([["0", halves([half(TILE / 2, TILE), half(0, TILE / 2)])]]);
    expect(fillOverview(picture({ overviews }), line(-1), 0)).toEqual([{ x0: 200, x1: 600, y: 120, region: 7, calls: 0 }]);
  });
});

describe("the line of the critical path", () => {
  const p = {
    scale: new Scale({ begin: 0, end: 10 }, 1000),
    left: 200,
    top: 50,
    scroll: 0,
    layout: { row: 40, tops: Float64Array.of(0, 40, 80) },
    rowOf: (location: number) => location,
  } as unknown as Picture;
  it("has each part at the bottom of its row, within the picture", () => {
    const parts: Part[] = [[0, -2, 3], [1, 3, 12], [0, 12, 14]];
    expect(criticalLine(p, parts)).toEqual([[200, 86], [500, 86], [500, 126], [1200, 126]]);
  });
  it("has few points for many parts narrower than a pixel", () => {
    const parts = Array.from({ length: 100_000 }, (_, i): Part => [i % 2, i / 10_000, (i + 1) / 10_000]);
    const points = criticalLine(p, parts);
    expect(points.length).toBeLessThan(4000);
    expect(new Set(points.map(([, y]) => y))).toEqual(new Set([86, 126]));
  });
});
