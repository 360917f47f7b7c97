// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { chosenRows, depthOf, nameOfKind, waiters, type WaitMetric, type WaitRow, type Waits } from "../src/data/waits";

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
