// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, PairMap, arranged, subtreeEnds } from "../src/calltree/paths";
import { tree } from "./trees";

describe("paths", () => {
  it("knows where a subtree ends", () => {
    const paths = tree([1, 10, 1, [2, 4, 1, [3, 1, 1]], [3, 2, 1]], [4, 1, 1]);
    expect([...subtreeEnds(paths)]).toEqual([4, 3, 3, 4, 5]);
  });

  it("numbers pairs in the order of their first use", () => {
    const pairs = new PairMap(2);
    for (let i = 0; i < 5000; i++) expect(pairs.add(i % 71, (i * 7) % 5000)).toBe(i);
    for (let i = 0; i < 5000; i++) expect(pairs.add(i % 71, (i * 7) % 5000)).toBe(i);
    expect([pairs.size, pairs.firstOf(100), pairs.secondOf(100)]).toEqual([5000, 29, 700]);
    expect(pairs.add(NONE, NONE)).toBe(5000);
  });

  it("sorts siblings by inclusive time, hidden ones last", () => {
    const paths = tree([1, 10, 1, [2, 1, 1], [NONE, 5, 9], [3, 3, 1, [4, 1, 1], [5, 2, 1]]], [6, 20, 1]);
    const out = arranged(paths);
    expect([...out.region]).toEqual([6, 1, 3, 5, 4, 2, NONE]);
    expect([...out.parent]).toEqual([NONE, NONE, 1, 2, 2, 1, 1]);
    expect([...out.incl]).toEqual([20, 10, 3, 2, 1, 1, 5]);
  });
});
