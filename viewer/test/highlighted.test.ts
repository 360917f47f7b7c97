// SPDX-License-Identifier: BSD-3-Clause
import { expect, test } from "vitest";
import type { Regions } from "../src/data/facts";
import { highlightedIn } from "../src/state/highlighted";

const modules = ["solver", "solver.grid", "solvers", "MPI"];
const names = ["solver:Run.step", "solver.grid:step", "solvers:step", "MPI_Send"];
const regions = { count: names.length, groupOf: (i: number) => modules[i], lowered: () => names.map((name) => name.toLowerCase()) } as unknown as Regions;
const highlighted = (text?: string, module?: string): number[] | undefined => {
  const found = highlightedIn(regions, text, module);
  return found && Array.from(found);
};

test("no search: no highlighting", () => {
  expect(highlighted()).toBeUndefined();
  expect(highlighted("  ")).toBeUndefined();
});

test("a search ignores case", () => {
  expect(highlighted("STEP")).toEqual([1, 1, 1, 0]);
  expect(highlighted("mpi")).toEqual([0, 0, 0, 1]);
});

test("a module includes its submodules, but no others with the same prefix", () => {
  expect(highlighted(undefined, "solver")).toEqual([1, 1, 0, 0]);
});

test("a search within a module", () => {
  expect(highlighted("run", "solver")).toEqual([1, 0, 0, 0]);
  expect(highlighted("send", "solver")).toEqual([0, 0, 0, 0]);
});
