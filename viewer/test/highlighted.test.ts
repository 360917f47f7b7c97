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

test("nothing is sought: none are highlighted more than others", () => {
  expect(highlighted()).toBeUndefined();
  expect(highlighted("  ")).toBeUndefined();
});

test("a search does not care for capitals", () => {
  expect(highlighted("STEP")).toEqual([1, 1, 1, 0]);
  expect(highlighted("mpi")).toEqual([0, 0, 0, 1]);
});

test("a module holds those below it, and no others that begin like it", () => {
  expect(highlighted(undefined, "solver")).toEqual([1, 1, 0, 0]);
});

test("a search within a module", () => {
  expect(highlighted("run", "solver")).toEqual([1, 0, 0, 0]);
  expect(highlighted("send", "solver")).toEqual([0, 0, 0, 0]);
});
