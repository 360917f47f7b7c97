// SPDX-License-Identifier: BSD-3-Clause
// The numbers of the other run in all computations on the call tree, compared with the same computation on that run alone.
import { describe, expect, it } from "vitest";
import { Spread, SpreadBefore } from "../src/data/balance";
import { BottomUp } from "../src/calltree/bottomup";
import { changeOf, changeText, both } from "../src/data/change";
import { NONE, pack, parse } from "../src/data/columns";
import type { Facts } from "../src/data/facts";
import { type LineFunction, heatLines } from "../src/data/heat";
import { Matrix } from "../src/data/matrix";
import { type Paths, basePaths } from "../src/calltree/paths";
import { sandwich } from "../src/calltree/sandwich";
import { type WaitRow, type Waits, WaitsBefore } from "../src/data/waits";
import { randomTree } from "./trees";

/** A tree with the numbers of two runs. Those of the second are the exclusive time of each call; some calls did not happen in it. */
function pairOfTrees(seed: number): { both: Paths; base: Paths } {
  const here = randomTree(400, 7, seed);
  const excl = here.excl.map((own, i) => (i % 3 ? 2 * own + 1 : 0));
  const incl = Float64Array.from(excl);
  for (let i = here.count - 1; i > 0; i--) incl[here.parent[i]!]! += incl[i]!;
  const paths = { ...here, base: { visits: here.visits.map((n) => n + 1), incl, excl } };
  return { both: paths, base: basePaths(paths)! };
}

describe("the other run", () => {
  it("has the same numbers in callers and callees as alone", () => {
    for (let seed = 1; seed < 8; seed++) {
      const { both: paths, base } = pairOfTrees(seed);
      for (let region = 1; region < 7; region++) {
        const found = sandwich(paths, region, 7)!;
        const alone = sandwich(base, region, 7)!;
        expect(found.base).toEqual({ visits: alone.visits, incl: alone.incl, excl: alone.excl });
        const before = (edges: typeof found.callers) => new Map(edges.map((e) => [e.region, e.before]));
        expect(before(found.callers)).toEqual(new Map(alone.callers.map((e) => [e.region, e.incl])));
        expect(before(found.callees)).toEqual(new Map(alone.callees.map((e) => [e.region, e.incl])));
        expect(found.down.base!.incl[0]).toBe(alone.incl);
        expect(found.up.base!.incl[0]).toBe(alone.incl);
        expect(found.down.base!.excl.reduce((a, b) => a + b)).toBe(alone.down.excl.reduce((a, b) => a + b));
      }
    }
  });

  it("has the same numbers in the bottom-up tree at every depth", () => {
    const { both: paths, base } = pairOfTrees(3);
    const name = (region: number): string => `${region}`;
    const [found, alone] = [new BottomUp(paths, 7, name), new BottomUp(base, 7, name)];
    for (const model of [found, alone]) for (const node of [...model.shown]) model.open(node);
    const rows = (model: BottomUp) => Array.from(model.shown, (node) => model.row(node));
    const above = (model: BottomUp, node: number) => (model.parent(node) === NONE ? NONE : model.row(model.parent(node)).region);
    const own = new Map(Array.from(alone.shown, (node, i) => [`${above(alone, node)} ${rows(alone)[i]!.region}`, rows(alone)[i]!.excl]));
    expect(found.shown.length).toBeGreaterThan(20);
    rows(found).forEach((row, i) => expect(row.baseExcl).toBe(own.get(`${above(found, found.shown[i]!)} ${row.region}`)));
    found.closeAll();
    found.sort("change");
    const changes = rows(found).map((row) => row.excl - row.baseExcl!);
    expect(changes).toEqual([...changes].sort((a, b) => b - a));
  });

  it("has changes in percent, as a factor, or as new and gone", () => {
    const changes = ([[3, 2], [2, 2], [1, 0], [0, 1], [96.14, 1], [0.5, 1]] as const).map(([now, before]) => changeOf({ now, before }));
    expect(changes).toEqual(["+50.0", "0.0", "new", "gone", "×96.1", "-50.0"]);
    expect(changeText({ now: 3, before: 2 })).toBe("+50.0 %");
    expect(changeText({ now: 30, before: 2 })).toBe("×15");
    expect(changeText({ now: 98_432, before: 1 })).toBe("×98,400");
    expect(changeText({ now: 999_700, before: 1 })).toBe("×1 million");
    expect(changeText({ now: 1_234_567, before: 1 })).toBe("×1.23 million");
    expect(both((s) => `${s} s`, { now: 1, before: 2 })).toBe("-1 s, -50.0 %");
  });

  it("has its lines at their current line numbers", () => {
    const f: LineFunction = {
      name: "m:f", module: "m", function: "f", file: "/m.py", line: 1, excl: 3, callees: 0, lines: [[2, 1, 3, 0]],
      base: { name: "m:f", file: "/m.py", line: 1, excl: 9, callees: 0, by: "text", lines: [[2, 3, 1, 4, 0], [3, 4, 1, 5, 0]], gone: [] },
    }; // prettier-ignore
    const lines = heatLines([f], "/m.py", "def f():\n    g()\n    return\n");
    expect(lines.map((l) => [l.line, l.excl, l.before])).toEqual([[1, 0, undefined], [2, 3, 4], [3, 0, 5]]);
  });

  it("has its messages in the same cells, and a count of those without a cell", () => {
    const facts = { processes: [{ rank: 1 }, { rank: 0 }], locations: [] } as unknown as Facts;
    const columns = (from: number[], to: number[], n: number[]) => {
      const f64 = Float64Array.from(n);
      return parse<"matrix">(pack({}, { from: Uint32Array.from(from), to: Uint32Array.from(to), messages: f64, bytes: f64, time: f64, received: f64 }));
    };
    const here = (process: number): number => [1, 0, Number.NaN][process]!;
    const m = new Matrix(columns([0], [1], [5]), facts).beside(columns([0, 2, 1], [1, 0, 0], [7, 2, 1]), here);
    expect([m.was("bytes", 0, 1), m.was("bytes", 1, 0), m.elsewhere]).toEqual([7, 1, 2]);
    expect(m.largestChange("bytes")).toBe(7);
  });

  it("has its waits at the same ranks and call paths", () => {
    const row = (path: number, process: number, time: number): WaitRow => ({ kind: 0, path, location: process, process, on_location: null, on: null, count: 1, time, longest: time });
    const metrics = [{ name: "late", shown: "late", what: "", kinds: [0], parent: null, count: 1, time: 4 }];
    const now: Waits = { metrics, rows: [row(1, 0, 4), row(2, 1, 1)], stacks: { 1: ["a", "new:f"], 2: ["b"] }, found: {} as Waits["found"] };
    const base: Waits = { metrics, rows: [row(9, 1, 3), row(9, 2, 8)], stacks: { 9: ["a", "old:f"] }, found: {} as Waits["found"] };
    const place = (there: number | null): number => (there === 1 ? 0 : Number.NaN);
    const before = new WaitsBefore(now, base, { process: place, location: place, name: (text) => text.replace("old", "new") });
    expect(now.rows.map((r) => before.of(r))).toEqual([3, 0]);
    expect([before.waiter(0, [0]).waited, before.total([0]), before.metric(metrics[0]!)]).toEqual([3, 11, 4]);
  });

  it("has its functions and ranks in the balance", () => {
    const columns = (units: number[], rows: [number, number, number][]) =>
      new Spread(parse(pack({ over: "processes", units, total: 1 }, {
        unit: Uint32Array.from(rows, (r) => r[0]), region: Uint32Array.from(rows, (r) => r[1]), visits: Float64Array.from(rows, () => 1),
        incl: Float64Array.from(rows, (r) => r[2]), excl: Float64Array.from(rows, (r) => r[2]),
      }))); // prettier-ignore
    const base = columns([0, 1], [[0, 1, 2], [1, 1, 4], [0, 2, 7], [1, NONE, 1]]);
    const before = new SpreadBefore(base, [0, 5, 6, 8], (unit) => [4, Number.NaN][unit]!);
    expect([before.mean(5, "excl"), before.mean(6, "excl"), before.mean(8, "excl"), before.mean(9, "excl")]).toEqual([3, 3.5, Number.NaN, 0]);
    expect(Array.from(before.values(5, "excl", [3, 4]))).toEqual([Number.NaN, 2]);
    expect(Array.from(before.values(undefined, "excl", [4]))).toEqual([9]);
  });
});
