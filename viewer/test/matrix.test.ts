// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { NONE, pack, parse } from "../src/data/columns";
import type { Facts } from "../src/data/facts";
import { Matrix, MAX_CELLS } from "../src/data/matrix";
import { placeMatrix, roundStep } from "../src/draw/matrixplace";

const factsOf = (ranks: (number | null)[]): Facts => ({ processes: ranks.map((rank) => ({ rank, name: "p", pid: 1 })), locations: [] }) as unknown as Facts;
function columns(from: number[], to: number[], messages: number[]) {
  const f64 = Float64Array.from(messages);
  return parse<"matrix">(pack({}, { from: Uint32Array.from(from), to: Uint32Array.from(to), messages: f64, bytes: f64.map((n) => n * 8), time: f64.map((n) => n / 10), received: f64 }));
}

describe("the matrix", () => {
  it("has senders in rows and receivers in columns, by rank, with sums of both", () => {
    const facts = factsOf([1, 0]); // process 0 is rank 1
    const m = new Matrix(columns([0, 1, 0], [1, 0, 0], [5, 2, 1]), facts);
    expect(m.processes).toEqual([1, 0]);
    expect(m.label(facts, 0)).toBe("rank 0");
    expect(m.value("messages", 1, 0)).toBe(5);
    expect(m.value("messages", 0, 1)).toBe(2);
    expect(m.value("bytes", 1, 1)).toBe(8);
    expect([m.sent("messages", 0), m.sent("messages", 1)]).toEqual([2, 6]);
    expect([m.received("messages", 0), m.received("messages", 1)]).toEqual([5, 3]);
    expect([m.total("messages"), m.largest("messages")]).toEqual([8, 5]);
  });
  it("has a row and a column for processes that were not measured", () => {
    const facts = factsOf([0, 1]);
    const m = new Matrix(columns([0], [NONE], [3]), facts);
    expect(m.size).toBe(3);
    expect(m.label(facts, 2)).toBe("not measured");
    expect(m.value("messages", 0, 2)).toBe(3);
  });
  it("combines ranks if there are more than pixels", () => {
    const n = 10_000;
    const ranks = Array.from({ length: n }, (_, i) => i);
    const facts = factsOf(ranks);
    const m = new Matrix(columns(ranks.slice(1), ranks.slice(0, -1), new Array<number>(n - 1).fill(1)), facts);
    expect(m.size).toBeLessThanOrEqual(MAX_CELLS);
    expect(m.total("messages")).toBe(n - 1);
    expect(m.label(facts, 0)).toBe(`rank 0 to rank ${m.group - 1}`);
    expect(m.label(facts, m.size - 1)).toContain("rank 9999");
  });
});

describe("the list of pairs", () => {
  it("has those with the most of the quantity first, and the place of each", () => {
    const facts = factsOf([1, 0]);
    const m = new Matrix(columns([0, 1, 0], [1, 0, 0], [2, 5, 0]), facts);
    expect(m.pairs("messages", 9).map((pair) => [pair.from, pair.to, pair.messages, pair.bytes])).toEqual([[1, 0, 5, 40], [0, 1, 2, 16]]);
    expect(m.pairs("bytes", 1)).toHaveLength(1);
    expect([m.placeOf(0), m.placeOf(1)]).toEqual([1, 0]);
    expect(m.number(facts, 0)).toBe("0");
  });
});

describe("the picture of the matrix", () => {
  it("has names of ranks at round steps", () => {
    expect([0.2, 1, 1.1, 2.1, 6, 11, 21, 51, 101].map(roundStep)).toEqual([1, 1, 2, 5, 10, 20, 50, 100, 200]);
  });
  it("fills the page with square cells, from 2 to 512 rows", () => {
    for (const [width, height] of [[864, 770], [768, 590], [390, 440]] as const)
      for (const n of [2, 4, 24, 65, 257, 512]) {
        const p = placeMatrix(n, n, 46, width, height);
        const [right, bottom] = [p.bars + p.longest, p.foot + 22];
        expect(right).toBeLessThanOrEqual(width);
        expect(bottom).toBeLessThanOrEqual(height);
        // one of both directions leaves no room for larger cells
        expect(Math.min(width - right, height - bottom)).toBeLessThan(30);
        expect(n * p.cell).toBeGreaterThan(0.6 * Math.min(width, height));
        expect(p.rows * p.cell).toBeGreaterThanOrEqual(17);
        if (!p.numbered) expect(p.columns * p.cell).toBeGreaterThanOrEqual(15);
      }
  });
});
