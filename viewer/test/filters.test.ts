// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { filteredPaths } from "../src/calltree/filters";
import { flatOfTree } from "../src/calltree/flat";
import { NONE, type Paths } from "../src/calltree/paths";
import { besides } from "../src/calltree/ranges";
import { Tree } from "../src/calltree/tree";
import { readRange, writeRange } from "../src/data/url";
import { randomTree, tree } from "./trees";

const OWN = [0, 1, 1, 0, 0, 0]; // regions 1 and 2 are own code

const ownPaths = (paths: Paths, own: number[]) => filteredPaths(paths, own, { code: "own" });
const rows = (paths: Paths) =>
  Array.from({ length: paths.count }, (_, i) => [paths.parent[i], paths.region[i], paths.incl[i], paths.excl[i], paths.visits[i], paths.hidden[i]]);

describe("the tree of own code", () => {
  it("counts other code for the own function that led to it", () => {
    // own 1 calls library 3, which calls own 2 and library 4; own 1 calls own 2 also by library 5
    const found = ownPaths(tree([1, 100, 1, [3, 60, 9, [2, 20, 4], [4, 10, 7]], [5, 30, 2, [2, 5, 3]]]), OWN);
    expect(rows(found)).toEqual([
      [NONE, 1, 100, 75, 1, 0],
      [0, 2, 25, 25, 7, 0],
    ]);
  });

  it("has what no own function led to in one row, and own functions that other code starts beside it", () => {
    const found = ownPaths(tree([3, 50, 1, [4, 10, 1], [1, 30, 2]], [5, 4, 1, [1, 1, 1]]), OWN);
    expect(rows(found)).toEqual([
      [NONE, 1, 31, 31, 3, 0],
      [NONE, 0, 23, 23, 0, 0],
    ]);
  });

  it("keeps sums of small paths below the own function", () => {
    const found = ownPaths(tree([1, 10, 1, [3, 8, 1, [NONE, 6, 5]], [NONE, 1, 2]]), OWN);
    expect(rows(found)).toEqual([
      [NONE, 1, 10, 3, 1, 0],
      [0, NONE, 7, 7, 7, 7],
    ]);
  });

  it("has the same time, of each own function as much as its calls and the other code that they led to", () => {
    for (let seed = 1; seed < 9; seed++) {
      const whole = randomTree(3000, 6, seed);
      const expected = new Float64Array(6);
      const under = new Uint32Array(whole.count);
      for (let i = 0; i < whole.count; i++) {
        under[i] = OWN[whole.region[i]!] ? whole.region[i]! : i ? under[whole.parent[i]!]! : 0;
        expected[under[i]!]! += whole.excl[i]!;
      }
      const found = ownPaths(whole, OWN);
      const times = new Float64Array(6);
      for (let i = 0; i < found.count; i++) times[found.region[i]!]! += found.excl[i]!;
      expect(times).toEqual(expected);
      expect(new Set(found.region)).toEqual(new Set([0, 1, 2]));
    }
  });
});

const timesOf = (paths: Paths, n = 6): Float64Array => {
  const times = new Float64Array(n);
  for (let i = 0; i < paths.count; i++) if (paths.region[i] !== NONE) times[paths.region[i]!]! += paths.excl[i]!;
  return times;
};
const total = (paths: Paths): number => paths.excl.reduce((sum, time) => sum + time, 0);

describe("filters of a call tree", () => {
  it("show own functions and what they call, with the time below", () => {
    const found = filteredPaths(tree([1, 100, 1, [3, 60, 9, [2, 20, 4], [4, 10, 7]], [5, 30, 2, [2, 5, 3]]]), OWN, { code: "entries" });
    expect(rows(found)).toEqual([
      [NONE, 1, 100, 10, 1, 0],
      [0, 3, 60, 40, 9, 0],
      [1, 2, 20, 20, 4, 0],
      [0, 5, 30, 25, 2, 0],
      [3, 2, 5, 5, 3, 0],
    ]);
  });

  it("show an outermost function of other code, which nobody of the program called", () => {
    const found = filteredPaths(tree([3, 50, 1, [4, 10, 1], [1, 30, 2]]), OWN, { code: "entries" });
    expect(rows(found)).toEqual([
      [NONE, 3, 50, 20, 1, 0],
      [0, 1, 30, 30, 2, 0],
    ]);
  });

  it("leave out imports, but not the modules of the program below them", () => {
    const imported = Uint8Array.of(0, 1, 1, 0, 1, 0);
    const found = filteredPaths({ ...tree([1, 100, 1, [3, 60, 9, [4, 20, 4], [2, 10, 7]], [5, 30, 2, [2, 5, 3]]]), imported }, OWN, { noImports: true });
    // rows: 1; 3 (imported); 4 (imported); 2 (not); 5 (imported); 2 (not): both are callees of 1 now
    expect(rows(found)).toEqual([
      [NONE, 1, 25, 10, 1, 0],
      [0, 2, 15, 15, 10, 0],
    ]);
  });

  it("fold recursion, also over other functions", () => {
    const found = filteredPaths(tree([1, 100, 1, [1, 90, 2, [2, 80, 3, [1, 50, 4, [3, 10, 5]]]]]), OWN, { foldRecursion: true });
    expect(rows(found)).toEqual([
      [NONE, 1, 100, 60, 7, 0],
      [0, 2, 30, 30, 3, 0],
      [0, 3, 10, 10, 5, 0],
    ]);
  });

  it("show only call paths with a function that is found, with its callers and callees", () => {
    const only = [0, 0, 0, 1, 0, 0];
    const found = filteredPaths(tree([1, 100, 1, [2, 20, 4], [5, 50, 2, [3, 20, 3, [4, 5, 6]]]], [2, 7, 1]), OWN, { only });
    expect(rows(found)).toEqual([
      [NONE, 1, 20, 0, 1, 0],
      [0, 5, 20, 0, 2, 0],
      [1, 3, 20, 15, 3, 0],
      [2, 4, 5, 5, 6, 0],
    ]);
  });

  it("combine small paths below each caller, and count them", () => {
    const found = filteredPaths(tree([1, 100, 1, [2, 60, 4, [3, 3, 9]], [4, 4, 2, [3, 2, 3]], [5, 4, 1], [NONE, 2, 6]]), OWN, { least: 0.05 });
    expect(rows(found)).toEqual([
      [NONE, 1, 100, 30, 1, 0],
      [0, 2, 60, 57, 4, 0],
      [1, NONE, 3, 3, 9, 1],
      [0, NONE, 10, 10, 9, 9],
    ]);
  });

  it("keep the time of all, of each function, and of another run", () => {
    for (let seed = 1; seed < 9; seed++) {
      const { incl, excl, visits, ...rest } = randomTree(3000, 6, seed);
      const other = randomTree(3000, 6, seed); // the same shape
      const double = (values: Float64Array): Float64Array => values.map((value) => 2 * value);
      const whole = { incl, excl, visits, ...rest, base: { incl: double(other.incl), excl: double(other.excl), visits: double(other.visits) }, running: double(incl) };
      for (const filters of [{ code: "own" }, { code: "entries" }, { foldRecursion: true }, { least: 0.01 }, { code: "entries", foldRecursion: true, least: 0.02 }] as const) {
        const found = filteredPaths(whole, OWN, filters);
        expect(total(found)).toBe(total(whole));
        expect(found.incl.reduce((sum, time, i) => sum + (found.parent[i] === NONE ? time : 0), 0)).toBe(total(whole));
        if (!("least" in filters || "code" in filters)) expect(timesOf(found)).toEqual(timesOf(whole));
        expect(found.base!.incl).toEqual(double(found.incl));
        expect(found.base!.excl).toEqual(double(found.excl));
        expect(found.base!.visits).toEqual(double(found.visits));
        expect(found.running).toEqual(double(found.incl));
        if ("foldRecursion" in filters)
          for (let i = 0; i < found.count; i++)
            for (let up = found.parent[i]!; up !== NONE; up = found.parent[up]!) expect(found.region[up] === found.region[i] && found.region[i] !== NONE).toBe(false);
      }
    }
  });

  it("give the numbers of all functions of a tree", () => {
    const whole = new Tree({ ...tree([1, 100, 1, [1, 90, 2, [2, 80, 3, [1, 50, 4, [3, 10, 5]]]], [NONE, 2, 6]]), running: Float64Array.of(50, 45, 40, 25, 5, 1) }, { paths: 11 });
    const flat = flatOfTree(whole);
    const at = (values: Float64Array | undefined) => [1, 2, 3].map((region) => values![flat.region.indexOf(region)]);
    expect(at(flat.visits)).toEqual([7, 3, 5]);
    expect(at(flat.incl)).toEqual([100, 80, 10]);
    expect(at(flat.excl)).toEqual([8 + 10 + 40, 30, 10]);
    expect(at(flat.running)).toEqual([4 + 5 + 20, 15, 5]);
    expect(at(flat.waiting)).toEqual([29, 15, 5]);
    expect([flat.total, flat.functions]).toEqual([100, 3]);
  });
});

describe("two ranges of time", () => {
  it("are one tree with the numbers of both", () => {
    const here = { ...tree([1, 100, 1, [2, 60, 4], [3, 10, 2], [NONE, 5, 2]]), ids: Uint32Array.of(7, 8, 9, NONE) };
    const there = { ...tree([1, 50, 2, [3, 20, 1, [4, 6, 3]], [NONE, 8, 3]], [5, 2, 1]), ids: Uint32Array.of(7, 9, 12, NONE, 20) };
    const both = besides(here, there);
    const rows = Array.from({ length: both.count }, (_, i) => [both.parent[i], both.region[i], both.incl[i], both.excl[i], both.visits[i], both.base!.incl[i], both.base!.excl[i], both.base!.visits[i]]);
    expect(rows).toEqual([
      [NONE, 1, 100, 25, 1, 50, 22, 2],
      [0, 2, 60, 60, 4, 0, 0, 0],
      [0, 3, 10, 10, 2, 20, 14, 1],
      [2, 4, 0, 0, 0, 6, 6, 3],
      [0, NONE, 5, 5, 2, 8, 8, 3],
      [NONE, 5, 0, 0, 0, 2, 2, 1],
    ]);
    expect(both.imported).toBeUndefined();
    const imported = besides(here, { ...there, imported: Uint8Array.of(0, 0, 1, 0, 0) }).imported!;
    expect(Array.from(imported)).toEqual([0, 0, 0, 1, 0, 0]);
  });

  it("are kept in the address", () => {
    expect(readRange(writeRange(0.5, 1.25))).toEqual({ begin: 0.5, end: 1.25 });
    for (const wrong of [undefined, "", "1", "2~1", "1~1", "1~2~3", "a~2", "0~Infinity"]) expect(readRange(wrong)).toBeUndefined();
  });
});
