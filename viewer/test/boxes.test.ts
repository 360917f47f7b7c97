// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { Finder, boxesIn, heldIn, step } from "../src/calltree/boxes";
import { change, largestChange } from "../src/data/change";
import { NONE, pack, parse } from "../src/data/columns";
import type { Paths } from "../src/calltree/paths";
import { disc, flipped, lettering, polar, upright } from "../src/calltree/sunburst";
import { ROOT, type Tree, treeIn } from "../src/calltree/tree";
import { panned, zoomed } from "../src/views/icicle";
import { type Call, tree as callTree } from "./trees";

function make(...calls: Call[]): Tree {
  const { parent, region, visits, incl, excl, hidden }: Paths = callTree(...calls);
  return treeIn(parse(pack({}, { parent, region, visits, incl, excl, hidden })));
}

// siblings in descending order, as in the answer of the kind "tree"
const tree = make([1, 100, 1, [2, 60, 2, [3, 40, 4]], [3, 30, 3], [4, 0.2, 1, [5, 0.1, 1]], [6, 0.1, 1], [NONE, 0.2, 7]]);
const whole = { top: ROOT, from: 0, to: 100, scale: 1, first: 0, levels: 99 };

describe("boxes", () => {
  it("are at least half a pixel wide; narrower siblings are combined", () => {
    const boxes = boxesIn(tree, whole);
    const seen = boxes.row.map((row, i) => [tree.region[row], boxes.until[i]! > 0, boxes.depth[i], boxes.from[i], boxes.to[i]]);
    expect(seen.slice(0, 3)).toEqual([
      [1, false, 0, 0, 100],
      [2, false, 1, 0, 60],
      [3, false, 1, 60, 90],
    ]);
    expect(seen[3]!.slice(0, 4)).toEqual([4, true, 1, 90]);
    expect(boxes.to[3]).toBeCloseTo(90.5);
    expect(seen[4]).toEqual([3, false, 2, 0, 40]);
    expect(heldIn(tree, boxes.row[3]!, boxes.until[3]!)).toMatchObject({ paths: 3 + 7, top: [{ region: 4 }, { region: 6 }] });
  });
  it("are separate when they are wide enough, except paths that the server has summed up", () => {
    const boxes = boxesIn(tree, { ...whole, from: 89.9, to: 91, scale: 1000 });
    expect(boxes.row.map((row) => tree.region[row])).toEqual([1, 3, 4, 6, NONE, 5]);
    expect(boxes.until.map((until) => until > 0)).toEqual([false, false, false, false, true, false]);
  });
  it("are only those of the visible levels", () => {
    expect(boxesIn(tree, { ...whole, first: 1, levels: 1 }).depth).toEqual([1, 1, 1]);
    expect(boxesIn(tree, { ...whole, top: 0, levels: 1 }).row.map((row) => tree.region[row])).toEqual([2, 3, 4]);
  });
  it("are no more than pixels, however many paths there are", () => {
    const many = make([1, 50_000, 1, ...Array.from({ length: 50_000 }, (_, i): Call => [i + 2, 1, 1])]);
    const boxes = boxesIn(many, { ...whole, to: 50_000, scale: 1000 / 50_000 });
    expect(boxes.row.length).toBe(2);
    expect(heldIn(many, boxes.row[1]!, boxes.until[1]!)).toMatchObject({ paths: 50_000, time: 50_000 });
  });
  it("survive deep recursion", () => {
    let call: Call = [1, 1, 1];
    for (let i = 0; i < 3000; i++) call = [1, 1, 1, call];
    const boxes = boxesIn(make(call), { ...whole, to: 1, scale: 1000, levels: 1e9 });
    expect(boxes.row.length).toBe(3001);
  });
  it("are combined in several places if the other run's time orders them", () => {
    const { parent, region, visits, incl, excl, hidden } = callTree([1, 100, 1, [2, 0.2, 1], [3, 60, 1], [4, 0.3, 1], [5, 0.3, 1], [6, 20, 1]]);
    const base = { base_visits: visits, base_incl: incl, base_excl: excl };
    const compared = treeIn(parse(pack({}, { parent, region, visits, incl, excl, hidden, ...base })));
    const boxes = boxesIn(compared, whole);
    expect(boxes.row.map((row, i) => [compared.region[row], boxes.until[i]! > 0])).toEqual([
      [1, false],
      [3, false],
      [4, true],
      [6, false],
    ]);
    expect(heldIn(compared, boxes.row[2]!, boxes.until[2]!).paths).toBe(2);
    expect(compared.endOfRun(boxes.row[2]!, boxes.until[2]!)).toBeCloseTo(60.8);
  });
  it("are found at a point", () => {
    const boxes = boxesIn(tree, whole);
    const finder = new Finder(boxes);
    expect([finder.at(1, 59.9), finder.at(1, 60), finder.at(1, 95), finder.at(2, 41), finder.at(9, 0)]).toEqual([1, 2, -1, -1, -1]);
    expect(boxes.until[finder.at(1, 90.2)]).toBeGreaterThan(0);
  });
  it("are selected with the arrow keys", () => {
    expect(step(tree, ROOT, "ArrowDown")).toBe(0);
    expect(step(tree, 0, "ArrowDown")).toBe(1);
    expect(step(tree, 1, "ArrowRight")).toBe(3);
    expect(step(tree, 3, "ArrowLeft")).toBe(1);
    expect(step(tree, 1, "ArrowLeft")).toBe(1);
    expect(step(tree, 1, "ArrowUp")).toBe(0);
    expect(step(tree, 0, "ArrowUp")).toBe(ROOT);
    expect(step(tree, 0, "x")).toBeUndefined();
  });
});

describe("the visible part", () => {
  const least = { from: 10, to: 20, first: 0 };
  it("keeps the time at the pointer, and stays within the limits", () => {
    expect(zoomed(least, 12, 0.5, least)).toEqual({ from: 11, to: 16, first: 0 });
    expect(zoomed({ from: 11, to: 16, first: 3 }, 15, 9, least)).toEqual({ from: 10, to: 20, first: 3 });
    expect(panned({ from: 11, to: 16, first: 0 }, 99, least)).toEqual({ from: 15, to: 20, first: 0 });
  });
});

describe("the sunburst", () => {
  const on = disc(400, 300, 4);
  it("has its rings within the canvas", () => {
    expect(on.inner + 4 * on.ring).toBeLessThanOrEqual(150);
    expect(polar(on, 200, 150)).toEqual({ ring: -1, turn: 0 });
    expect(polar(on, 200 + on.inner + on.ring / 2, 150)).toMatchObject({ ring: 0, turn: 0.25 });
    expect(polar(on, 200 - on.inner - 1.5 * on.ring, 150)).toMatchObject({ ring: 1, turn: 0.75 });
    expect(polar(on, 1, 1)).toBeUndefined();
  });
  it("writes labels along long arcs, outwards in short ones, and none in narrow ones", () => {
    expect(lettering(on, 2, 0, 0.3)).toMatchObject({ curved: true, turn: 0.15 });
    expect(lettering(on, 2, 0.2, 0.23)).toMatchObject({ curved: false });
    expect(lettering(on, 2, 0.2, 0.2001)).toBeUndefined();
    expect([flipped(0.1), flipped(0.5)]).toEqual([false, true]);
    expect(upright(Math.PI)).toBeCloseTo(0);
  });
});

describe("change", () => {
  it("is relative to before, or to the largest", () => {
    expect([change(2, 1, "relative", 0), change(0, 1, "relative", 0), change(1, 0, "relative", 0), change(0, 0, "relative", 0)]).toEqual([1, -1, 1, 0]);
    expect(change(1.1, 1, "relative", 0)).toBeCloseTo(0.1);
    expect(change(3, 1, "absolute", largestChange([3, 1], [1, 5]))).toBe(0.5);
    expect(change(1, 1, "absolute", 0)).toBe(0);
  });
});
