// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { layout, type Box, type Wanted } from "../src/draw/layout";
import { separate } from "../src/draw/separate";

/** Random calls, mostly between close nodes; every third one may go backwards, so there are cycles. */
function random(n: number, m: number, clusters: number, seed: number): Wanted {
  let state = seed;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const known = new Set<string>();
  const edges = [];
  for (let k = 0; k < m; k++) {
    const to = k < n - 1 ? k + 1 : below(n);
    const from = k < n - 1 ? Math.max(0, to - 1 - below(15)) : below(n);
    if (from === to || known.has(`${from}-${to}`)) continue;
    known.add(`${from}-${to}`);
    edges.push({ from, to });
  }
  const nodes = Array.from({ length: n }, (_, i) => ({
    width: 60 + below(120),
    height: 30,
    cluster: clusters && i % 5 ? Math.floor((i * clusters) / n) : -1,
  }));
  return { nodes, edges, clusters: Array.from({ length: clusters }, () => 40) };
}

const apart = (a: Box, b: Box): boolean =>
  a.x + a.width <= b.x + 1e-3 || b.x + b.width <= a.x + 1e-3 || a.y + a.height <= b.y + 1e-3 || b.y + b.height <= a.y + 1e-3;
const within = (a: Box, b: Box): boolean =>
  a.x >= b.x - 1e-3 && a.y >= b.y - 1e-3 && a.x + a.width <= b.x + b.width + 1e-3 && a.y + a.height <= b.y + b.height + 1e-3;

describe("points on a line", () => {
  it("keep their positions if the distances are large enough", () => {
    const want = Float64Array.of(0, 10, 30);
    const out = separate(want, new Float64Array(3).fill(1), [{ left: 0, right: 1, gap: 5 }]);
    expect([...out]).toEqual([0, 10, 30]);
  });

  it("move to the middle, heavier ones less", () => {
    const gaps = [
      { left: 0, right: 1, gap: 10 },
      { left: 1, right: 2, gap: 10 },
    ];
    const out = separate(Float64Array.of(0, 0, 0), Float64Array.of(1, 1, 1), gaps);
    expect([...out]).toEqual([-10, 0, 10]);
    const heavy = separate(Float64Array.of(0, 0), Float64Array.of(3, 1), gaps.slice(0, 1));
    expect([...heavy]).toEqual([-2.5, 7.5]);
  });

  it("keep all distances", () => {
    const gaps = Array.from({ length: 400 }, (_, k) => ({ left: k % 90, right: (k % 90) + 1 + ((k * 7) % 9), gap: 3 + (k % 5) }));
    const want = Float64Array.from({ length: 100 }, (_, i) => (i * 37) % 50);
    const out = separate(want, new Float64Array(100).fill(1), gaps);
    for (const { left, right, gap } of gaps) expect(out[right]! - out[left]!).toBeGreaterThanOrEqual(gap - 1e-4);
  });
});

describe("layout", () => {
  it("puts callers above callees, also in a cycle", () => {
    const node = { width: 100, height: 30, cluster: -1 };
    const edges = [
      { from: 0, to: 1 },
      { from: 1, to: 2 },
      { from: 0, to: 2 },
      { from: 2, to: 1 },
    ];
    const out = layout({ nodes: [node, node, node], edges, clusters: [] });
    const y = out.nodes.map((box) => box.y);
    expect(y[0]).toBeLessThan(y[1]!);
    expect(y[1]).toBeLessThan(y[2]!);
    expect(out.edges.map((e) => e.upwards)).toEqual([false, false, false, true]);
    const first = out.edges[0]!.points;
    expect([first[0], first[1]]).toEqual([out.nodes[0]!.x + 50, out.nodes[0]!.y + 30]);
    const back = out.edges[3]!.points;
    expect(back[1]).toBeGreaterThan(back[back.length - 1]!);
  });

  it("accepts an empty graph", () => {
    expect(layout({ nodes: [], edges: [], clusters: [] }).nodes).toEqual([]);
  });

  it.each([
    [8, 9, 2],
    [40, 60, 6],
    [120, 200, 12],
    [200, 350, 20],
    [200, 400, 0],
  ])("lays %i functions with %i calls in %i modules without overlap", (n, m, clusters) => {
    for (const seed of n < 200 ? [1, 2, 3] : [1]) {
      const wanted = random(n, m, clusters, seed);
      const out = layout(wanted);
      const frames = out.clusters.filter((box): box is Box => box !== undefined);
      const whole = { x: 0, y: 0, width: out.width, height: out.height };
      const wrong: string[] = []; // collected, as one expect() for each pair takes seconds
      out.nodes.forEach((box, i) => {
        if (!within(box, whole)) wrong.push(`node ${i} is outside`);
        for (let k = 0; k < i; k++) if (!apart(box, out.nodes[k]!)) wrong.push(`nodes ${k} and ${i}`);
        out.clusters.forEach((frame, c) => {
          if (!frame) return;
          const right = wanted.nodes[i]!.cluster === c ? within(box, frame) : apart(box, frame);
          if (!right) wrong.push(`node ${i} and frame ${c}`);
        });
      });
      frames.forEach((frame, i) => frames.slice(0, i).every((other) => apart(frame, other)) || wrong.push(`frame ${i}`));
      expect(wrong).toEqual([]);
      for (const { points } of out.edges) expect(points.every(Number.isFinite)).toBe(true);
    }
  }, 60_000);
});
