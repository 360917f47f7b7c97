// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { type LockWait, SUMS, byObject, flowOf, summed, shortObject } from "../src/data/locks";

const wait = (location: number, object: number, holder: number | null, time: number, count = 1): LockWait => ({
  object,
  location,
  holder,
  stack: 0,
  holder_stack: 0,
  at: "",
  count,
  time,
  longest: time,
  open: false,
});
const waits = [wait(1, 0, 2, 3), wait(2, 0, 1, 1), wait(1, 0, 2, 2, 4), wait(3, 1, null, 4)];

describe("locks", () => {
  it("are summed by object, longest wait first", () => {
    expect(summed(waits, byObject)).toMatchObject([
      { of: { object: 0 }, time: 6, longest: 3, count: 6, threads: 2 },
      { of: { object: 1 }, time: 4, longest: 4, count: 1, threads: 1 },
    ]);
  });

  it("are summed by call path, and by pair of waiter and lock holder", () => {
    const elsewhere = { ...wait(1, 1, 2, 7), stack: 3 };
    expect(summed([...waits, elsewhere], SUMS.paths.key)).toMatchObject([
      { time: 10, count: 7, threads: 3, objects: 2 },
      { of: { stack: 3 }, time: 7, longest: 7, count: 1, threads: 1, objects: 1 },
    ]);
    expect(summed(waits, SUMS.threads.key).map(({ of, time, count }) => [of.location, of.holder, time, count])).toEqual([
      [1, 2, 5, 5],
      [3, null, 4, 1],
      [2, 1, 1, 1],
    ]);
  });

  it("have ribbons from waiter to object to lock holder", () => {
    const { columns, ribbons } = flowOf(waits, 400);
    expect(columns.map((nodes) => nodes.map((node) => [node.id, node.time]))).toEqual([
      [[1, 5], [3, 4], [2, 1]],
      [[0, 6], [1, 4]],
      [[2, 5], [1, 1]],
    ]);
    // a wait without lock holder ends in the middle
    expect(ribbons.map((r) => [r.step, r.from, r.to, r.object, r.time])).toEqual([
      [0, 0, 0, 0, 5],
      [0, 1, 1, 1, 4],
      [0, 2, 0, 0, 1],
      [1, 0, 0, 0, 5],
      [1, 0, 1, 0, 1],
    ]);
  });

  it("are drawn within the height, and ribbons within their nodes", () => {
    const { columns, ribbons } = flowOf(waits, 400);
    for (const nodes of columns) {
      expect(nodes.at(-1)!.y + nodes.at(-1)!.height).toBeLessThanOrEqual(400);
      nodes.slice(1).forEach((node, i) => expect(node.y).toBeGreaterThan(nodes[i]!.y + nodes[i]!.height));
    }
    for (const r of ribbons) {
      const [from, to] = [columns[r.step]![r.from]!, columns[r.step + 1]![r.to]!];
      expect(r.y0 - r.thick / 2).toBeGreaterThanOrEqual(from.y - 1e-9);
      expect(r.y1 + r.thick / 2).toBeLessThanOrEqual(to.y + to.height + 1);
    }
  });

  it("beyond the limit are combined in the last node", () => {
    const many = Array.from({ length: 30 }, (_, i) => wait(i, i, null, 100 - i));
    const { columns, ribbons } = flowOf(many, 400);
    expect(columns[0].length).toBe(13);
    expect(columns[0].at(-1)).toMatchObject({ id: -1, time: many.slice(12).reduce((sum, w) => sum + w.time, 0) });
    expect(ribbons.reduce((sum, r) => sum + r.time, 0)).toBe(many.reduce((sum, w) => sum + w.time, 0));
    expect(columns[2]).toEqual([]);
  });

  it("without waits give an empty picture", () => {
    expect(flowOf([], 100)).toEqual({ columns: [[], [], []], ribbons: [] });
  });
});

describe("the name of an object", () => {
  it("has no directories", () => {
    expect(shortObject("Lock made at examples/a/b.py:34")).toBe("Lock at b.py:34");
    expect(shortObject("queue.Queue made at b.py:50 #2")).toBe("queue.Queue at b.py:50 #2");
    expect(shortObject("GIL")).toBe("GIL");
  });
});
