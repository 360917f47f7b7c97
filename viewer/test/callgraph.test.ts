// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { callGraph, ownCalls, pick, type Picked, shareFor } from "../src/calltree/callgraph";
import { NONE } from "../src/calltree/paths";
import { sandwich } from "../src/calltree/sandwich";
import { type Call, randomTree, tree } from "./trees";

describe("call graph", () => {
  it("counts recursion once, in functions and in calls", () => {
    const g = callGraph(tree([1, 100, 1, [2, 80, 1, [3, 60, 2, [2, 40, 3, [3, 10, 1]]]], [NONE, 5, 7]]), 4);
    expect([...g.incl]).toEqual([0, 100, 80, 60]);
    expect([...g.excl]).toEqual([0, 15, 20 + 30, 20 + 10]);
    expect([...g.visits]).toEqual([0, 1, 4, 3]);
    const edges = [...g.caller].map((caller, e) => [caller, g.callee[e], g.edgeIncl[e], g.edgeVisits[e]]);
    expect(edges).toEqual([
      [1, 2, 80, 1],
      [2, 3, 60, 3],
      [3, 2, 40, 3],
    ]);
    expect(g.hidden).toBe(7);
  });

  it("agrees with callers and callees", () => {
    const paths = randomTree(3000, 8);
    const g = callGraph(paths, 8);
    for (let region = 1; region < 8; region++) {
      const s = sandwich(paths, region, 8)!;
      expect([g.incl[region], g.excl[region], g.visits[region]]).toEqual([s.incl, s.excl, s.visits]);
      for (const edge of s.callees) {
        const e = [...g.caller.keys()].find((i) => g.caller[i] === region && g.callee[i] === edge.region)!;
        expect([g.edgeIncl[e], g.edgeVisits[e]]).toEqual([edge.incl, edge.visits]);
      }
      expect(ownCalls(g, region)).toBe(s.callees.find((edge) => edge.region === region)?.visits ?? 0);
    }
  });

  const g = callGraph(tree([1, 1000, 1, [2, 600, 1, [2, 10, 1], [3, 300, 5]], [4, 4, 1], [5, 90, 1, [3, 1, 1]]]), 6);

  it("omits small functions and counts them", () => {
    const p = pick(g, { total: 1000, node: 0.05, edge: 0.01, limit: 200 });
    expect([...p.nodes]).toEqual([1, 2, 3, 5]);
    expect([...p.edges].map((e) => [g.caller[e], g.callee[e]])).toEqual([
      [1, 2],
      [2, 3],
      [1, 5],
    ]);
    expect([p.small, p.smallEdges, p.beyond.length]).toEqual([1, 1, 0]);
  });

  it("chooses a share for a clear picture", () => {
    expect(shareFor(g, 1000, [0, 0.05, 0.5], 5)).toBe(0);
    expect(shareFor(g, 1000, [0.5, 0, 0.05], 4)).toBe(0.05);
    expect(shareFor(g, 1000, [0, 0.05, 0.5], 1)).toBe(0.5);
  });

  it("lists functions beyond the limit", () => {
    const p = pick(g, { total: 1000, node: 0, edge: 0, limit: 2 });
    expect([...p.nodes]).toEqual([1, 2]);
    expect([...p.beyond]).toEqual([3, 5, 4]);
  });

  it("draws the largest call of each function, even a small one", () => {
    const calls = (p: Picked): (number | undefined)[][] => [...p.edges].map((e) => [g.caller[e], g.callee[e]]);
    const largest = [
      [1, 2],
      [2, 3],
      [1, 5],
    ];
    const few = pick(g, { total: 1000, node: 0.05, edge: 0, limit: 200, edgeLimit: 1 });
    expect([calls(few), few.smallEdges]).toEqual([largest, 1]); // 5 calls 3 too
    expect(calls(pick(g, { total: 1000, node: 0.05, edge: 0.9, limit: 200 }))).toEqual(largest);
    expect(few.stubs.size).toBe(0);
  });

  it("connects a function none of whose callers is large enough by those with the most time", () => {
    const many = tree([1, 1000, 1, ...[2, 3, 4, 5].map((r): Call => [r, 250 - r, 1, [6, 240 - r, 1]])]);
    const p = pick(callGraph(many, 7), { total: 1000, node: 0.5, edge: 0, limit: 200 });
    expect([...p.nodes]).toEqual([1, 6, 2]);
    expect([p.edges.length, p.stubs.size, p.small]).toEqual([2, 0, 3]);
    const two = pick(callGraph(many, 7), { total: 1000, node: 0, edge: 0, limit: 2 });
    expect([[...two.nodes], [...two.beyond], two.small]).toEqual([[1, 6, 2], [3, 4, 5], 0]);
  });

  it("marks a function that too many callers would have to connect", () => {
    const deep = (from: number, inner: Call): Call => (from > 20 ? inner : [from, 300, 1, deep(from + 1, inner)]);
    const many = tree([1, 1000, 1, ...[0, 1, 2].map((): Call => deep(3, [2, 290, 1]))]);
    const p = pick(callGraph(many, 21), { total: 1000, node: 0.95, edge: 0, limit: 200 });
    expect([...p.nodes]).toEqual([1]);
    const q = pick({ ...callGraph(many, 21), incl: callGraph(many, 21).incl.map((v, r) => (r === 2 ? 999 : v)) }, { total: 1000, node: 0.95, edge: 0, limit: 200 });
    expect([[...q.nodes], [...q.stubs]]).toEqual([[1, 2], [2]]);
  });

  it("shows only functions that reach, or are reached from, one function", () => {
    const p = pick(g, { total: 1000, node: 0.05, edge: 0, limit: 200, around: 5 });
    expect([...p.nodes]).toEqual([5, 1, 3]);
    expect([...pick(g, { total: 1000, node: 0.5, edge: 0, limit: 200, around: 4 }).nodes]).toEqual([4, 1]);
  });
});
