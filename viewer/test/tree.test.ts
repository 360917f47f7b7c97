// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, pack, parse } from "../src/data/columns";
import { ROOT, treeIn, hitsIn, search } from "../src/calltree/tree";

// 1(10) { 2(6) { 3(4), small(1) }, 3(2) }, 4(5)
const rows: [parent: number, region: number, incl: number, excl: number, hidden: number][] = [
  [NONE, 1, 10, 2, 0],
  [0, 2, 6, 1, 0],
  [1, 3, 4, 4, 0],
  [1, NONE, 1, 1, 12],
  [0, 3, 2, 2, 0],
  [NONE, 4, 5, 5, 0],
];
const column = (index: number): number[] => rows.map((row) => row[index]!);
const tree = treeIn(
  parse(
    pack(
      { total: 15, paths: 17 },
      {
        parent: Uint32Array.from(column(0)),
        region: Uint32Array.from(column(1)),
        visits: new Float64Array(rows.length).fill(1),
        incl: Float64Array.from(column(2)),
        excl: Float64Array.from(column(3)),
        hidden: Uint32Array.from(column(4)),
      },
    ),
  ),
);

describe("the tree", () => {
  it("places siblings side by side", () => {
    expect([...tree.depth]).toEqual([0, 1, 2, 2, 1, 0]);
    expect([...tree.end]).toEqual([5, 4, 3, 4, 5, 6]);
    expect([...tree.start]).toEqual([0, 0, 0, 4, 6, 10]);
    expect([tree.total, tree.deepest, tree.paths]).toEqual([15, 3, 17]);
  });
  it("has ancestors and children", () => {
    expect(tree.children(ROOT)).toEqual([0, 5]);
    expect(tree.children(1)).toEqual([2, 3]);
    expect(tree.ancestors(2)).toEqual([0, 1, 2]);
    expect(tree.pathOf(2)).toEqual([1, 2, 3]);
    expect(tree.pathOf(3)).toEqual([1, 2]); // combined paths have no name
  });
  it("finds a path, or its longest known prefix", () => {
    expect(tree.find([1, 2, 3])).toBe(2);
    expect(tree.find([1, 3, 9])).toBe(4);
    expect(tree.find([1, 3, 9], true)).toBe(ROOT);
    expect(tree.find(undefined)).toBe(ROOT);
    expect(tree.longest(3)).toBe(2);
    expect(tree.longest(99)).toBe(ROOT);
  });
  it("counts the paths that combined rows represent", () => {
    expect(tree.pathsIn(0, tree.count)).toBe(17);
    expect(tree.pathsIn(2, 4)).toBe(13);
  });
});

describe("search", () => {
  const names = ["main", "json:load", "json:loads", "spam"];
  it("finds a part of the name, or a regular expression", () => {
    expect([...search(names, " LOAD ")!]).toEqual([0, 1, 1, 0]);
    expect([...search(names, "/load$/")!]).toEqual([0, 1, 0, 0]);
    expect([...search(names, "/(/")!]).toEqual([0, 0, 0, 0]); // invalid expression: searched as plain text
    expect(search(names, "  ")).toBeUndefined();
  });
  it("counts time once if a hit is below another", () => {
    const hits = hitsIn(tree, Uint8Array.of(0, 0, 1, 1, 0));
    expect([hits.regions, hits.paths, hits.time]).toEqual([2, 3, 6 + 2]);
    expect([...hits.rows]).toEqual([0, 1, 1, 0, 1, 0]);
  });
});
