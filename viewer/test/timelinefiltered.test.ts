// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import type { Filters } from "../src/calltree/filters";
import { NONE, type Paths } from "../src/calltree/paths";
import { Tree } from "../src/calltree/tree";
import { Visible } from "../src/calltree/visible";
import { type Asked, TILE } from "../src/timeline/cache";
import { type Overview, Stack } from "../src/timeline/data";
import { FilteredCalls } from "../src/timeline/filtered";
import { type Call, tree } from "./trees";

const OWN = [0, 1, 1, 0, 0, 0]; // regions 1 and 2 are own code

/** Depth, begin, end, region, calls. */
type Box = [depth: number, begin: number, end: number, region: number, calls?: number];

function stackOf(boxes: Box[]): Stack {
  const u32 = (at: 0 | 3): Uint32Array => Uint32Array.from(boxes, (box) => box[at]);
  const f64 = (at: 1 | 2): Float64Array => Float64Array.from(boxes, (box) => box[at]);
  return new Stack({ depth: u32(0), begin: f64(1), end: f64(2), region: u32(3), calls: Uint32Array.from(boxes, (box) => box[4] ?? 1), busy: Float32Array.from(boxes, () => 1), exact: true });
}

const treeOf = (paths: Paths): Tree => new Tree(paths, { paths: paths.count });

const asked = <T>(value: T): Asked<T> => ({ pieces: [{ value, level: 0, begin: 0, end: 100, exact: true }], complete: true });

/** What a timeline of one location shows between 0 and 100: its boxes, and the first line's function in each of ten parts. */
function shown(boxes: Box[], filters: Filters, ...calls: Call[]): { boxes: Box[]; line: number[] } {
  const filtered = new FilteredCalls(new Visible(treeOf(tree(...calls)), OWN, filters));
  const stacks = new Map([["0", asked(stackOf(boxes))]]);
  const stack = filtered.stacksOf(stacks).get("0")!.pieces[0]!.value;
  const rows: Box[] = [];
  for (let depth = 0; depth < stack.lanes; depth++) {
    const [from, to] = stack.within(depth, 0, 100);
    for (let i = from; i < to; i++) rows.push([depth, stack.begin[i]!, stack.end[i]!, stack.region[i]!]);
  }
  const none = new Uint32Array(TILE);
  const tile: Overview = { first: 0, rows: 1, region: none, share: new Uint8Array(TILE), events: none, waiting: new Uint8Array(TILE), bytes: 0 };
  const line = filtered.overviewsOf(new Map([["0", asked(tile)]]), stacks, { begin: 0, end: 100 }).get("0")!.pieces[0]!.value;
  return { boxes: rows, line: Array.from({ length: 10 }, (_, i) => line.region[Math.floor(((i + 0.5) / 10) * TILE)]!) };
}

// own 1 from 0 to 100 calls library 3, which calls own 2 and library 4, from 10 to 70; then recursion from 80 to 100
const CALLS: Call = [1, 100, 1, [3, 60, 1, [2, 20, 1], [4, 20, 1]], [1, 20, 1, [5, 10, 1]]];
const BOXES: Box[] = [
  [0, 0, 100, 1],
  [1, 10, 70, 3],
  [1, 80, 100, 1],
  [2, 20, 40, 2],
  [2, 50, 70, 4],
  [2, 90, 100, 5],
];

describe("the filters of a timeline", () => {
  it("show own functions alone, whose callees move up", () => {
    expect(shown(BOXES, { code: "own" }, CALLS)).toEqual({
      boxes: [
        [0, 0, 100, 1],
        [1, 20, 40, 2],
        [1, 80, 100, 1],
      ],
      line: [1, 1, 2, 2, 1, 1, 1, 1, 1, 1],
    });
  });

  it("show the functions that own code calls, with the time below these", () => {
    expect(shown(BOXES, { code: "entries" }, CALLS)).toEqual({
      boxes: [
        [0, 0, 100, 1],
        [1, 10, 70, 3],
        [1, 80, 100, 1],
        [2, 20, 40, 2],
        [2, 90, 100, 5],
      ],
      line: [1, 3, 2, 2, 3, 3, 3, 1, 1, 5],
    });
  });

  it("fold recursion into the outermost call", () => {
    const { boxes, line } = shown(BOXES, { foldRecursion: true }, CALLS);
    expect(boxes).toContainEqual([1, 90, 100, 5]);
    expect(boxes).not.toContainEqual([1, 80, 100, 1]);
    expect(line.slice(7)).toEqual([1, 1, 5]);
  });

  it("leave out imports, whose time counts for nobody", () => {
    const paths = tree(CALLS);
    const imported = Uint8Array.of(0, 1, 1, 1, 0, 0);
    const filtered = new FilteredCalls(new Visible(treeOf({ ...paths, imported }), OWN, { noImports: true }));
    const stacks = new Map([["0", asked(stackOf(BOXES))]]);
    expect(filtered.stacksOf(stacks).get("0")!.pieces[0]!.value.within(1, 0, 75)).toEqual([1, 1]);
    const none = new Uint32Array(TILE);
    const tile: Overview = { first: 0, rows: 1, region: none, share: new Uint8Array(TILE), events: none, waiting: new Uint8Array(TILE), bytes: 0 };
    const { region } = filtered.overviewsOf(new Map([["0", asked(tile)]]), stacks, { begin: 0, end: 100 }).get("0")!.pieces[0]!.value;
    expect([5, 30, 75, 95].map((at) => region[Math.floor((at / 100) * TILE)])).toEqual([1, NONE, 1, 5]);
  });

  it("show what is found and its callers, without the callers' exclusive time", () => {
    expect(shown(BOXES, { only: [0, 0, 0, 0, 1, 0] }, CALLS)).toEqual({
      boxes: [
        [0, 0, 100, 1],
        [1, 10, 70, 3],
        [2, 50, 70, 4],
      ],
      line: [NONE, NONE, NONE, NONE, NONE, 4, 4, NONE, NONE, NONE],
    });
  });

  it("combine calls of paths with little time with their caller", () => {
    const { boxes, line } = shown(BOXES, { least: 0.15 }, CALLS);
    expect(boxes.map(([, , , region]) => region)).toEqual([1, 3, 1, 2, 4]);
    expect(line[9]).toBe(1);
  });

  it("have the program's start in the first line for what no own function led to", () => {
    const { boxes, line } = shown([[0, 0, 100, 3], [1, 50, 100, 2]], { code: "own" }, [3, 100, 1, [2, 50, 1]]);
    expect(boxes).toEqual([[0, 50, 100, 2]]);
    expect([line[0], line[9]]).toEqual([0, 2]);
  });

  it("find the path of a block below a combined block of another function", () => {
    // 4 is called by 3 alone, but most of the combined block's time is in 2
    const paths = tree(CALLS);
    const imported = Uint8Array.of(0, 1, 0, 1, 0, 0);
    const visible = new Visible(treeOf({ ...paths, imported }), OWN, { noImports: true });
    const combined = visible.calls(visible.calls(undefined, 1), 2, true);
    expect(visible.calls(combined, 4)).toMatchObject({ shown: false, counts: NONE });
    expect(visible.calls(visible.calls(undefined, 1), 4)).toMatchObject({ shown: true, counts: 4 });
  });

  it("treat a combined block as calls of the function with most of its time", () => {
    const { boxes } = shown([[0, 0, 100, 1], [1, 10, 60, 3, 40], [2, 10, 60, 2, 30]], { code: "own" }, CALLS);
    expect(boxes).toEqual([[0, 0, 100, 1], [1, 10, 60, 2]]);
  });
});
