// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, ROOT_REGION, type Paths } from "../src/calltree/paths";
import { sandwich } from "../src/calltree/sandwich";
import { randomTree, tree } from "./trees";

const rows = (paths: Paths): number[][] =>
  Array.from({ length: paths.count }, (_, i) => [paths.parent[i]!, paths.region[i]!, paths.incl[i]!, paths.excl[i]!, paths.visits[i]!]);

describe("callers and callees", () => {
  it("counts recursion once", () => {
    // 1 -> 2 -> 2 -> 3, 1 -> 4 -> 2
    const s = sandwich(tree([1, 100, 1, [2, 60, 2, [2, 40, 3, [3, 10, 1]]], [4, 30, 1, [2, 20, 1]]]), 2, 5)!;
    expect([s.incl, s.excl, s.visits, s.outermost]).toEqual([80, 20 + 30 + 20, 6, 3]);
    expect(s.callers).toEqual([
      { region: 1, visits: 2, incl: 60, excl: 20 },
      { region: 2, visits: 3, incl: 40, excl: 30 },
      { region: 4, visits: 1, incl: 20, excl: 20 },
    ]);
    expect(s.callees).toEqual([
      { region: 2, visits: 3, incl: 40, excl: 30 },
      { region: 3, visits: 1, incl: 10, excl: 10 },
    ]);
    expect(rows(s.down)).toEqual([
      [NONE, 2, 80, 40, 3],
      [0, 2, 40, 30, 3],
      [1, 3, 10, 10, 1],
    ]);
    expect(rows(s.up)).toEqual([
      [NONE, 2, 80, 0, 3],
      [0, 1, 60, 60, 2],
      [0, 4, 20, 0, 1],
      [2, 1, 20, 20, 1],
    ]);
  });

  it("counts calls between two functions once in mutual recursion", () => {
    const s = sandwich(tree([1, 50, 1, [2, 40, 1, [1, 30, 1, [2, 20, 1]]]]), 2, 3)!;
    expect(s.callers).toEqual([{ region: 1, visits: 2, incl: 40, excl: 30 }]);
    expect(s.callees).toEqual([{ region: 1, visits: 1, incl: 30, excl: 10 }]);
  });

  it("has the start of the program as caller of outermost functions", () => {
    expect(sandwich(tree([1, 5, 1]), 1, 2)!.callers.map((e) => e.region)).toEqual([ROOT_REGION]);
    expect(sandwich(tree([ROOT_REGION, 5, 0, [1, 5, 1]]), 1, 2)!.callers.map((e) => e.region)).toEqual([ROOT_REGION]);
    expect(sandwich(tree([1, 5, 1]), 1, 2)!.up.count).toBe(1);
  });

  it("keeps hidden paths, and returns undefined for an unknown function", () => {
    const s = sandwich(tree([1, 50, 1, [2, 10, 1], [NONE, 7, 30]], [1, 6, 1, [NONE, 2, 4]]), 1, 3)!;
    expect(rows(s.down)).toEqual([
      [NONE, 1, 56, 37, 2],
      [0, 2, 10, 10, 1],
      [0, NONE, 9, 9, 34],
    ]);
    expect(s.down.hidden[2]).toBe(34);
    expect(sandwich(tree([1, 5, 1]), 2, 3)).toBeUndefined();
  });

  it("combines call paths that are too small to be visible", () => {
    const calls = Array.from({ length: 30 }, (_, i): [number, number, number, [number, number, number]] => [
      i + 2,
      i ? 1 : 999_971,
      1,
      [1, i ? 1 : 999_971, 1],
    ]);
    const { up } = sandwich(tree(...calls), 1, 40)!;
    expect(rows(up).slice(1)).toEqual([
      [0, 2, 999_971, 999_971, 1],
      [0, NONE, 29, 29, 29],
    ]);
    expect(up.hidden[2]).toBe(29);
  });

  it("has the same sums as the tree", () => {
    const paths = randomTree(4000, 9);
    for (let region = 1; region < 9; region++) {
      const s = sandwich(paths, region, 9)!;
      const top = [...s.down.region.keys()].filter((i) => s.down.parent[i] === 0).reduce((sum, i) => sum + s.down.incl[i]!, 0);
      expect(s.down.incl[0]).toBe(s.incl);
      expect(s.down.excl[0]! + top).toBe(s.incl);
      expect(s.up.incl[0]).toBe(s.incl);
      expect(s.callers.reduce((n, e) => n + e.visits, 0)).toBe(s.visits);
    }
  });

  it("takes 200,000 rows", () => {
    const paths = randomTree(200_000, 10_000);
    const s = sandwich(paths, 1, 10_000)!;
    expect(s.down.count).toBeGreaterThan(s.callees.length);
  });
});
