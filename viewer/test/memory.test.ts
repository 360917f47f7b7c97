// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { pack, parse } from "../src/data/columns";
import { valueAt } from "../src/data/curves";
import type { LineSite } from "../src/data/contract";
import { type Heap, type Memory, asMemory, curvesOf, heapCurves, heapOf, heapsOf, marksOf, sitesOf, words } from "../src/data/memory";

const NOTHING = { freed: 0, freed_bytes: 0, unknown: 0, lost: 0, lost_bytes: 0, unnamed: 0, sample: 0, own: 0, cost: 0, begin: 0, ended: null, resident: 0 };
const heap = (process: number, peak: number, rows: [number, number], limit: Heap["limit"] = null): Heap => ({
  ...NOTHING,
  process,
  count: 3,
  allocated: 900,
  peak_bytes: peak,
  peak_blocks: 2,
  peak_time: 0.2,
  resident_peak: 4096,
  resident_peak_time: 0.2,
  bytes: 0,
  blocks: 0,
  limit,
  rows,
});
const site = (line: number, numbers: Partial<LineSite>): LineSite => ({
  within: null,
  function: "m:f",
  file: "m.py",
  line,
  count: 0,
  bytes: 0,
  peak: 0,
  peak_bytes: 0,
  left: 0,
  left_bytes: 0,
  temporary: 0,
  temporary_bytes: 0,
  growing_bytes: 0,
  cache_bytes: 0,
  ...numbers,
});
const limit = { bytes: 3000, passed: 0.25, passes: 1, over: 0.1, function: "m:f", file: "m.py", line: 4, path: 1 };
const memoryMeta: Memory = {
  processes: [heap(0, 100, [0, 2]), heap(2, 700, [2, 5], limit)],
  lines: [site(1, { peak: 1, peak_bytes: 10, left: 1, left_bytes: 10 }), site(2, { peak: 2, peak_bytes: 30 }), site(3, { bytes: 5, count: 1 })],
  paths: [],
  threads: [],
  hidden: [0, 0, 0],
  stacks: {},
  totals: { bytes: 900, count: 3, peak: 3, peak_bytes: 40, left: 1, left_bytes: 10, temporary: 0, temporary_bytes: 0, growing_bytes: 5, cache_bytes: 5 },
  notes: [],
};
const columns = {
  at: Float64Array.of(0, 0.1, 0, 0.2, 0.3),
  heap: Float64Array.of(1, 2, 3, 700, 5),
  resident: Float64Array.of(10, 20, 30, 4096, 50),
};
const memory = asMemory(parse(pack({ ...memoryMeta }, columns)));

describe("memory", () => {
  it("is drawn for the selected process, or for the one with the highest peak", () => {
    expect(heapOf(memory, undefined)?.process).toBe(2);
    expect(heapOf(memory, 0)?.process).toBe(0);
    expect(heapOf(memory, 1)).toBeUndefined();
  });

  it("has a curve for the heap and one for the resident size, each from its own rows", () => {
    const [inHeap, resident] = curvesOf(memory.columns, memory.processes[1]!);
    expect(Array.from(inHeap!.at)).toEqual([0, 0.2, 0.3]);
    expect([0.1, 0.25, 0.9].map((t) => valueAt(inHeap!, t))).toEqual([3, 700, 5]);
    expect(valueAt(resident!, 0.25)).toBe(4096);
  });

  it("has a curve for the heap of each process if several are drawn", () => {
    const heaps = heapsOf({ ...memory, processes: [...memory.processes].reverse() });
    expect(heaps.map(({ process }) => process)).toEqual([0, 2]);
    expect(heapCurves(memory.columns, heaps).map((curve) => [curve.location, ...curve.value])).toEqual([[0, 1, 2], [2, 3, 700, 5]]);
    const many = Array.from({ length: 12 }, (_, i) => ({ ...memory.processes[0]!, process: i, peak_bytes: i === 3 ? 9999 : i }));
    expect(heapsOf({ ...memory, processes: many }).map(({ process }) => process)).toEqual([3, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("marks peak and limit if they are visible", () => {
    const [first, second] = memory.processes;
    expect(marksOf(first!, { begin: 0, end: 1 })).toEqual({ at: [{ time: 0.2, label: "peak 100 B" }], level: [] });
    expect(marksOf(second!, { begin: 0, end: 1 }).at.map((mark) => mark.time)).toEqual([0.2, 0.25]);
    expect(marksOf(second!, { begin: 0.22, end: 1 })).toEqual({ at: [{ time: 0.25, label: "limit passed" }], level: [{ value: 3000, label: "limit 2.93 KiB" }] });
    expect(marksOf({ ...second!, limit: { ...limit, passed: null } }, { begin: 0, end: 1 }).at.length).toBe(1);
  });

  it("lists sites with a value above 0, largest first", () => {
    expect(sitesOf(memory, "peak", "lines").map((s) => s.line)).toEqual([2, 1]);
    expect(sitesOf(memory, "left", "lines").map((s) => s.line)).toEqual([1]);
    expect(sitesOf(memory, "all", "lines").map((s) => s.line)).toEqual([3]);
    expect(sitesOf(memory, "temporary", "lines")).toEqual([]);
  });

  it("has a summary", () => {
    expect(words(memory, memory.processes[1]!)).toBe("peak 700 B in 2 blocks after 200 ms, 4.00 KiB resident at most, 10 B left, of which 50.0 % kept growing");
  });
});
