// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE } from "../src/calltree/paths";
import { besides } from "../src/calltree/ranges";
import { readRange, writeRange } from "../src/data/url";
import { tree } from "./trees";

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
