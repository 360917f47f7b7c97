// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";
import { seriesOf, valueAt } from "../src/timeline/charts";
import type { Picture } from "../src/timeline/picture";
import { moreOf } from "../src/timeline/head";

const tile = (rows: [number, number, number, number][]) =>
  parse<"counters">(
    pack(
      { names: ["queue", "load"] },
      {
        location: Uint32Array.from(rows.map((r) => r[0])),
        counter: Uint32Array.from(rows.map((r) => r[1])),
        at: Float64Array.from(rows.map((r) => r[2])),
        min: Float64Array.from(rows.map((r) => r[3])),
        max: Float64Array.from(rows.map((r) => r[3] + 1)),
        mean: Float64Array.from(rows.map((r) => r[3] + 0.5)),
      },
    ),
  );
const piece = (value: ReturnType<typeof tile>, begin: number, end: number) => ({ value, level: 1, begin, end, exact: true });

describe("counters", () => {
  it("continue from tile to tile without duplicates", () => {
    const asked = { complete: true, pieces: [piece(tile([[0, 0, 1, 5], [0, 0, 3, 7], [1, 0, 2, 1]]), 0, 4), piece(tile([[0, 0, 3, 7], [0, 0, 6, -2], [0, 1, 5, 9]]), 4, 8)] };
    const [load, queue] = seriesOf(asked, { begin: 0, end: 8 });
    expect([load!.name, queue!.name]).toEqual(["load", "queue"]);
    expect(queue!.of.get(0)!.map((p) => p.at)).toEqual([1, 3, 6]);
    expect(queue!.of.get(1)!.map((p) => p.min)).toEqual([1]);
    expect([queue!.low, queue!.high]).toEqual([-2, 8]);
    expect(seriesOf(undefined, { begin: 0, end: 8 })).toEqual([]);
  });
  it("have the last value that was set", () => {
    const points = [1, 3, 6].map((at) => ({ at, min: at, max: at, mean: at }));
    expect(valueAt(points, 0.5)).toBeUndefined();
    expect(valueAt(points, 3)!.at).toBe(3);
    expect(valueAt(points, 5.9)!.at).toBe(3);
    expect(valueAt(points, 100)!.at).toBe(6);
  });
});

/** The row of a rank's first thread, in a font with letters of 7 pixels. */
function picture(label: string, threads: number, tasks: number, left = 196): Picture {
  const pen = { measureText: (text: string) => ({ width: 7 * text.length }) };
  const facts = { processes: [{}, {}] };
  return { pen, facts, left, layout: { rows: [{ main: true, threads, tasks, process: 0, level: 0, label }] } } as unknown as Picture;
}

const closed = { threads: () => false, tasks: () => false };

describe("the number of further threads and tasks of a row", () => {
  it("is written out if it fits beside the name", () => {
    expect(moreOf(picture("rank 0", 3, 0), 0, closed).map((one) => one.text)).toEqual(["+3 threads"]);
    expect(moreOf(picture("rank 0", 1, 0), 0, { ...closed, threads: () => true }).map((one) => one.text)).toEqual(["−1 thread"]);
    expect(moreOf(picture("rank 0", 0, 0), 0, closed)).toEqual([]);
  });
  it("never overlaps the name", () => {
    const more = moreOf(picture("rank 0", 2, 6), 0, closed);
    expect(more.map((one) => one.text)).toEqual(["+6 tsk", "+2 thr"]);
    expect(Math.min(...more.map((one) => one.x)) - 8 - 20).toBeGreaterThanOrEqual(7 * "rank 0".length);
    expect(more[0]!.x + more[0]!.width).toBeLessThanOrEqual(196 - 8);
  });
});
