// SPDX-License-Identifier: BSD-3-Clause
import { expect, test } from "vitest";
import type { Regions } from "../src/data/facts";
import { meantIn } from "../src/state/meant";

const modules = ["solver", "solver.grid", "solvers", "MPI"];
const names = ["solver:Run.step", "solver.grid:step", "solvers:step", "MPI_Send"];
const regions = { count: names.length, groupOf: (i: number) => modules[i], lowered: () => names.map((name) => name.toLowerCase()) } as unknown as Regions;
const meant = (text?: string, module?: string): number[] | undefined => {
  const found = meantIn(regions, text, module);
  return found && Array.from(found);
};

test("nothing is sought: none are meant more than others", () => {
  expect(meant()).toBeUndefined();
  expect(meant("  ")).toBeUndefined();
});

test("a search does not care for capitals", () => {
  expect(meant("STEP")).toEqual([1, 1, 1, 0]);
  expect(meant("mpi")).toEqual([0, 0, 0, 1]);
});

test("a module holds those below it, and no others that begin like it", () => {
  expect(meant(undefined, "solver")).toEqual([1, 1, 0, 0]);
});

test("a search within a module", () => {
  expect(meant("run", "solver")).toEqual([1, 0, 0, 0]);
  expect(meant("send", "solver")).toEqual([0, 0, 0, 0]);
});
