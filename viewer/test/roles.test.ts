// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { summed } from "../src/calltree/summed";
import { NONE, type Paths } from "../src/calltree/paths";
import { Tree } from "../src/calltree/tree";
import type { Facts } from "../src/data/facts";
import { rolesIn, unitsOf } from "../src/state/roles";
import { read, write } from "../src/data/url";
import { randomTree, tree } from "./trees";

const treeOf = (paths: Paths): Tree => new Tree(paths, { paths: paths.count });
const process = (role: string) => ({ name: `Process of ${role}`, role });
const FACTS = {
  processes: [process("main"), process("worker"), process("worker")],
  locations: [
    { process: 0, name: "MainThread", role: "main thread" },
    { process: 0, name: "reader" },
    { process: 1, name: "MainThread", role: "main thread" },
    { process: 1, name: "pool (a)", role: "pool worker" },
    { process: 2, name: "MainThread", role: "main thread" },
  ],
} as unknown as Facts;

describe("roles", () => {
  it("are those of processes and threads, if there are several", () => {
    expect(rolesIn(FACTS).map(({ title }) => title)).toEqual(["main (process)", "worker ×2 (processes)", "main thread ×3 (threads)", "pool worker (thread)"]);
    expect(rolesIn({ processes: [process("main")], locations: [{ process: 0, name: "MainThread", role: "main thread" }] } as unknown as Facts)).toEqual([]);
  });

  it("select their processes or threads, within the selected process or thread", () => {
    const units = (selection: object) => unitsOf(FACTS, { view: "icicle", ...selection });
    expect(units({})).toBeUndefined();
    expect(units({ role: "process:worker" })).toEqual([{ process: 1 }, { process: 2 }]);
    expect(units({ role: "process:worker", process: 2 })).toEqual([{ process: 2 }]);
    expect(units({ role: "process:worker", location: 3 })).toEqual([{ location: 3 }]);
    expect(units({ role: "process:worker", location: 0 })).toEqual([]);
    expect(units({ role: "thread:main thread", process: 1 })).toEqual([{ location: 2 }]);
    expect(units({ role: "thread:main thread", location: 3 })).toEqual([]);
  });

  it("are part of the address", () => {
    const selection = { view: "timeline", role: "process:pool worker" };
    expect(read(write(selection), "summary")).toEqual(selection);
  });
});

describe("the sum of call trees", () => {
  it("adds equal paths, and keeps those that only some have", () => {
    const a = treeOf(tree([1, 10, 1, [2, 4, 2], [NONE, 3, 5]]));
    const b = treeOf(tree([3, 20, 1], [1, 30, 1, [4, 6, 1], [NONE, 2, 1]]));
    const found = summed([a, b]);
    expect(Array.from({ length: found.count }, (_, i) => [found.parent[i], found.region[i], found.incl[i], found.excl[i], found.visits[i], found.hidden[i]])).toEqual([
      [NONE, 1, 40, 25, 2, 0],
      [0, 4, 6, 6, 1, 0],
      [0, 2, 4, 4, 2, 0],
      [0, NONE, 5, 5, 6, 6],
      [NONE, 3, 20, 20, 1, 0],
    ]);
    expect(found.total).toBe(a.total + b.total);
    expect(found.paths).toBe(10);
  });

  it("is twice a tree that is added to itself, with its base", () => {
    const one = randomTree(2000, 9, 4);
    const base = { visits: one.visits.slice(), incl: one.incl.slice(), excl: one.excl.slice() };
    const found = summed([treeOf({ ...one, base }), treeOf({ ...one, base })]);
    expect(found.total).toBe(2 * treeOf(one).total);
    expect(found.baseTotal).toBe(found.total);
    expect(found.excl.reduce((sum, time) => sum + time, 0)).toBe(2 * one.excl.reduce((sum, time) => sum + time, 0));
  });
});
