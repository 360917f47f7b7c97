// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import type { Columns } from "../src/data/columns";
import { ImportTree } from "../src/data/imports";

const module = (name: string, importer: number, incl: number) => ({ module: name, file: "", own: false, importer, incl, excl: incl, loading: 0, running_incl: incl, waiting_incl: 0 });
const modules = [module("", 0, 100), module("small", 0, 10), module("large", 0, 90), module("inner", 2, 4), module("other", 2, 80), module("leaf", 3, 1)];
const tree = new ImportTree({ meta: { modules, busy: 200 } } as unknown as Columns<"imports">);
const names = (rows: number[]): string[] => rows.map((row) => modules[row]!.module);

describe("the tree of imports", () => {
  it("has each module below its importer, the longest first", () => {
    expect(names(tree.shown(new Set()))).toEqual(["large", "small"]);
    expect(names(tree.shown(new Set([2])))).toEqual(["large", "other", "inner", "small"]);
    expect(names(tree.shown(new Set([2, 3])))).toEqual(["large", "other", "inner", "leaf", "small"]);
    expect(modules.map((_, i) => tree.depth(i))).toEqual([-1, 0, 0, 1, 1, 2]);
    expect(tree.count).toBe(5);
  });

  it("opens at first the modules with much time", () => {
    expect([...tree.openAtFirst()]).toEqual([2]);
  });

  it("may have no module", () => {
    const none = new ImportTree({ meta: { modules: modules.slice(0, 1), busy: 0 } } as unknown as Columns<"imports">);
    expect([none.count, none.shown(new Set()), none.openAtFirst().size]).toEqual([0, [], 0]);
  });
});
