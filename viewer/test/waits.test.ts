// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { chosenRows, depthOf, nameOfKind, waiters, type WaitMetric, type WaitRow, type Waits } from "../src/data/waits";
import type { CriticalRegion } from "../src/data/contract";
import { type Piece, lanesOf, pieceAt, sharesOf } from "../src/draw/criticalplace";
import { OffCpuTimes } from "../src/data/offcpu";

const metric = (shown: string, kinds: number[], parent: number | null): WaitMetric => ({ name: shown, shown, what: "", kinds, parent, count: 0, time: 0 });
const row = (kind: number, process: number, on: number | null, time: number): WaitRow => ({
  kind,
  path: 1,
  location: process * 2,
  process,
  on_location: on,
  on,
  count: 2,
  time,
  longest: time,
});

describe("waits", () => {
  const metrics = [metric("Late Sender", [0, 1], null), metric("Wrong Order", [1], 0), metric("Barrier", [4], null)];
  const waits: Waits = { metrics, rows: [row(0, 0, 2, 3), row(1, 1, 2, 1), row(4, 2, null, 5)], stacks: {}, found: {} as Waits["found"] };

  it("have the name of the most specific metric", () => {
    expect([0, 1, 4].map((kind) => nameOfKind(metrics, kind))).toEqual(["Late Sender", "Wrong Order", "Barrier"]);
    expect(metrics.map((m) => depthOf(metrics, m))).toEqual([0, 1, 0]);
  });

  it("are those of the selection", () => {
    expect(chosenRows(waits, [0, 1]).length).toBe(2);
    expect(chosenRows(waits, [0, 1], 1).map((r) => r.time)).toEqual([1]);
    expect(chosenRows(waits, [0, 1, 4], undefined, 4).map((r) => r.time)).toEqual([5]);
  });

  it("have sums by waiter and by cause", () => {
    expect(waiters(waits.rows)).toEqual([
      { process: 0, waited: 3, caused: 0, count: 2 },
      { process: 1, waited: 1, caused: 0, count: 2 },
      { process: 2, waited: 5, caused: 4, count: 2 },
    ]);
  });
});

describe("the lanes of the critical path", () => {
  const times = [0.5, 0, 2, 1, 0.25];
  it("are the locations that it runs in, in their order", () => {
    const { lanes, of } = lanesOf(times, 4);
    expect(lanes.map(({ location }) => location)).toEqual([0, 2, 3, 4]);
    expect([...of]).toEqual([0, -1, 1, 2, 3]);
  });
  it("end with one for those with the least time, if there are too many", () => {
    const { lanes, of } = lanesOf(times, 3);
    expect(lanes).toEqual([{ location: 2, time: 2 }, { location: 3, time: 1 }, { location: -1, time: 0.75 }]);
    expect([...of]).toEqual([2, -1, 0, 1, 2]);
    expect(lanesOf(times, 1).lanes).toEqual([{ location: -1, time: 3.75 }]);
    expect(lanesOf([], 3).lanes).toEqual([]);
  });
});

describe("the pieces of the critical path", () => {
  it("are found by time", () => {
    const pieces: Piece[] = [[7, 1, 2], [3, 2, 2.5], [7, 2.5, 4]];
    expect([0.9, 1, 1.9, 2, 2.4, 3, 4, 4.1].map((time) => pieceAt(pieces, time))).toEqual([-1, 0, 0, 1, 1, 2, 2, -1]);
    expect(pieceAt([], 1)).toBe(-1);
  });
});

describe("the shares of functions", () => {
  const region = (name: string, time: number) => ({ name, time }) as CriticalRegion;
  it("are in descending order, with the small ones together at the end", () => {
    const found = sharesOf({ length: 10, regions: [region("b", 2), region("a", 6), region("tiny", 0.01), region("none", 0)] }, 0.01);
    expect(found.map((share) => [share.region?.name, share.begin, share.end])).toEqual([["a", 0, 0.6], ["b", 0.6, 0.8], [undefined, 0.8, 1]]);
  });
  it("fill the bar if there are no small ones, and are none of an empty path", () => {
    expect(sharesOf({ length: 4, regions: [region("a", 4)] }, 0.01)).toHaveLength(1);
    expect(sharesOf({ length: 0, regions: [region("a", 0)] }, 0.01)).toEqual([{ region: undefined, begin: 0, end: 1 }]);
  });
});

const place = (name: string, kind: string, waiting: number) => ({ name, kind, waiting, file: "", line: 0 });

describe("off-CPU time", () => {
  const times = new OffCpuTimes({ rows: [place("m:f", "queue", 4), place("m:g", "sleep", 3), place("m:h", "queue", 1)], waited: 8, busy: 16, least: 0 });

  it("has sums by kind, the longest first", () => {
    expect(times.kinds).toEqual([
      { kind: "queue", waiting: 5 },
      { kind: "sleep", waiting: 3 },
    ]);
    expect(times.kinds.map((kind) => times.share(kind))).toEqual([5 / 8, 3 / 8]);
    expect(times.ofKind("lock")).toBe(0);
  });

  it("of another run is found by the names here", () => {
    const before = times.byName((name) => (name === "m:f" ? "m:renamed" : name));
    expect([before(place("m:renamed", "queue", 9)), before(place("m:renamed", "sleep", 9)), before(place("m:g", "sleep", 9))]).toEqual([4, 0, 3]);
  });
});
