// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { invert, inverted } from "../src/calltree/inverted";
import { NONE, type Paths } from "../src/calltree/paths";
import { Tree } from "../src/calltree/tree";
import { read, write } from "../src/data/url";
import { randomTree, tree } from "./trees";

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
