// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { BottomUp } from "../src/calltree/bottomup";
import { NONE, type Paths } from "../src/calltree/paths";
import { randomTree, tree, type Call } from "./trees";
import { invert, inverted } from "../src/calltree/inverted";
import { Tree } from "../src/calltree/tree";
import { read, write } from "../src/data/url";

const name = (region: number): string => `f${region}`;
const shown = (b: BottomUp): number[][] =>
  Array.from(b.shown, (node) => {
    const r = b.row(node);
    return [r.depth, r.region, r.excl, r.incl, r.visits];
  });

describe("bottom-up", () => {
  const calls: Call = [1, 100, 1, [2, 60, 2, [3, 40, 4]], [3, 30, 3, [2, 5, 1, [3, 1, 1]]]];

  it("orders functions by their exclusive time", () => {
    const b = new BottomUp(tree(calls), 4, name);
    expect(shown(b)).toEqual([
      [0, 3, 40 + 25 + 1, 70, 8], // the innermost call is within another call of f3
      [0, 2, 20 + 4, 65, 3],
      [0, 1, 10, 100, 1],
    ]);
  });

  it("expands functions to callers whose numbers add up to those of the function", () => {
    const b = new BottomUp(tree(calls), 4, name);
    const top = b.shown[0]!;
    b.open(top);
    expect(shown(b).slice(0, 3)).toEqual([
      [0, 3, 66, 70, 8],
      [1, 2, 41, 40, 5],
      [1, 1, 25, 30, 3],
    ]);
    b.open(b.shown[1]!);
    expect(shown(b).slice(1, 5)).toEqual([
      [1, 2, 41, 40, 5],
      [2, 1, 40, 40, 4],
      [2, 3, 1, 0, 1],
      [1, 1, 25, 30, 3],
    ]);
    expect(b.parent(b.shown[3]!)).toBe(b.shown[1]);
    expect(b.parent(top)).toBe(NONE);
    expect(b.row(b.shown[2]!).closed).toBe(false); // only the start of the program calls it
    expect(b.row(b.shown[3]!).closed).toBe(true);
    b.close(top);
    expect(b.shown.length).toBe(3);
    b.open(top);
    expect(b.shown.length).toBe(7); // expanded rows below stay expanded
  });

  it("expands the callers with the most time up to the start of the program", () => {
    const b = new BottomUp(tree(calls), 4, name);
    b.openHottest(b.shown[0]!);
    expect(shown(b).map(([depth, region]) => [depth, region]).slice(0, 4)).toEqual([
      [0, 3],
      [1, 2],
      [2, 1],
      [2, 3],
    ]);
  });

  it("sorts and filters functions, and finds one", () => {
    const b = new BottomUp(tree(calls), 4, name);
    b.sort("name");
    expect(shown(b).map((r) => r[1])).toEqual([1, 2, 3]);
    b.sort("visits");
    expect(shown(b).map((r) => r[1])).toEqual([3, 2, 1]);
    b.only((region) => region !== 3);
    expect(shown(b).map((r) => r[1])).toEqual([2, 1]);
    expect([b.find(1), b.find(3), b.find(7)]).toEqual([b.shown[1], NONE, NONE]);
    expect(b.total("excl")).toBe(34);
  });

  it("omits the root, and has one row for hidden paths", () => {
    const b = new BottomUp(tree([0, 11, 0, [1, 8, 1, [NONE, 4, 12]], [NONE, 2, 5]]), 2, name);
    expect(shown(b)).toEqual([
      [0, NONE, 6, 6, 17],
      [0, 1, 4, 8, 1],
    ]);
    b.open(b.shown[0]!);
    expect(shown(b)[1]).toEqual([1, 1, 4, 4, 12]);
    expect(b.row(b.shown[0]!).hidden).toBe(17);
  });

  it("has callers whose sums are those of the function", () => {
    const paths = randomTree(200, 7);
    const b = new BottomUp(paths, 7, name);
    for (let i = 0; i < b.shown.length && i < 400; i++) b.open(b.shown[i]!);
    const all = Array.from(b.shown, (node) => b.row(node));
    for (const [i, row] of all.entries()) {
      if (!row.open) continue;
      let sum = 0;
      for (let k = i + 1; k < all.length && all[k]!.depth > row.depth; k++)
        if (all[k]!.depth === row.depth + 1) sum += all[k]!.excl;
      // calls by the start of the program have no caller's row
      expect(sum).toBeLessThanOrEqual(row.excl);
    }
    expect(b.total("excl")).toBe(paths.incl[0]! - paths.excl[0]!);
  });

  it("takes 200,000 rows", () => {
    const b = new BottomUp(randomTree(200_000, 10_000), 10_000, name);
    b.openHottest(b.shown[0]!);
    expect(b.shown.length).toBeGreaterThan(9_000);
  });
});

const treeOf = (paths: Paths): Tree => new Tree(paths, { paths: paths.count });
const rows = (of: Tree) => Array.from({ length: of.count }, (_, i) => [of.parent[i], of.region[i], of.incl[i], of.excl[i], of.hidden[i]]);

describe("the inverted call tree", () => {
  it("has each function with its exclusive time, and its callers below", () => {
    // 1 calls 2 (exclusive time 30) and 3, which calls 2 (exclusive time 20)
    const found = inverted(treeOf(tree([1, 100, 1, [2, 30, 1], [3, 60, 1, [2, 20, 1]]])));
    expect(rows(found)).toEqual([
      [NONE, 2, 50, 0, 0],
      [0, 1, 30, 30, 0],
      [0, 3, 20, 0, 0],
      [2, 1, 20, 20, 0],
      [NONE, 3, 40, 0, 0],
      [4, 1, 40, 40, 0],
      [NONE, 1, 10, 10, 0],
    ]);
  });

  it("has the exclusive time of each function as the width of its outermost box", () => {
    for (let seed = 1; seed < 6; seed++) {
      const paths = randomTree(2000, 7, seed);
      const expected = new Float64Array(7);
      paths.excl.forEach((time, row) => (expected[paths.region[row]!]! += time));
      const found = inverted(treeOf(paths));
      const times = new Float64Array(7);
      for (const row of found.children(-1)) times[found.region[row]!]! += found.incl[row]!;
      expect(times).toEqual(expected);
      expect(found.total).toBe(treeOf(paths).total);
    }
  });

  it("keeps all time if there are too many paths: those with the least time are combined", () => {
    const paths = randomTree(3000, 7, 3);
    const whole = inverted(treeOf(paths));
    for (const limits of [{ rows: 200, steps: 1e9 }, { rows: 1e9, steps: 500 }]) {
      const found = invert(treeOf(paths), limits);
      expect(found.total).toBe(whole.total);
      expect(found.count).toBeLessThan(whole.count / 2);
      expect(found.hidden.reduce((sum, n) => sum + n, 0)).toBeGreaterThan(0);
      for (const row of found.children(-1)) expect(found.incl[row]).toBe(whole.incl[whole.find([found.region[row]!], true)]);
    }
  });

  it("keeps sums of small paths, whose functions are not known, beside the functions", () => {
    const found = inverted(treeOf(tree([1, 100, 1, [NONE, 30, 5]])));
    expect(rows(found)).toEqual([
      [NONE, 1, 70, 70, 0],
      [NONE, NONE, 30, 30, 5],
    ]);
  });

  it("is part of the address", () => {
    const selection = { view: "icicle", invert: "callers", inverse: [3, 1, 1] };
    expect(read(write(selection), "summary")).toEqual(selection);
  });
});
