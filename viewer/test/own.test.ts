// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { ownPaths } from "../src/calltree/own";
import { NONE } from "../src/calltree/paths";
import { randomTree, tree } from "./trees";

const OWN = [0, 1, 1, 0, 0, 0]; // regions 1 and 2 are own code

const rows = (paths: ReturnType<typeof ownPaths>) =>
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
