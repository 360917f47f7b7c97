// SPDX-License-Identifier: BSD-3-Clause
// The layout of a call graph. A library for general graphs would be half as large as the page.
import { layers, type Layers, type LayerEdge, type LayerNode } from "./layers";
import { separate, type Gap } from "./separate";

export interface Wanted {
  readonly nodes: readonly LayerNode[];
  readonly edges: readonly LayerEdge[];
  /** Least widths of the clusters' frames, for their titles. */
  readonly clusters: readonly number[];
}

export interface Box {
  readonly x: number; // left
  readonly y: number; // top
  readonly width: number;
  readonly height: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly nodes: Box[];
  /** Points from the caller to the callee: pairs of x and y. */
  readonly edges: { points: number[]; upwards: boolean }[];
  /** undefined: the cluster has no nodes. */
  readonly clusters: (Box | undefined)[];
}

const BETWEEN = 20; // pixels between adjacent nodes
const LAYER = 38; // pixels between layers
const PAD = 10; // pixels between a frame and its contents
export const TITLE = 18; // pixels; height of a frame's title
const MARGIN = 14;
const ROUNDS = 12; // half of it for large graphs
const LARGE = 1000; // elements

/** Gaps between adjacent points: the elements, and two sides of each cluster's frame. */
function gapsOf(g: Layers, clusters: readonly number[]): Gap[] {
  const gaps: Gap[] = [];
  const leftOf = (c: number): number => g.count + 2 * c;
  const half = (v: number): number => (v < g.count ? g.width[v]! / 2 : 0);
  for (const layer of g.order) {
    let last = -1;
    const put = (v: number, space: number): void => {
      if (last >= 0) gaps.push({ left: last, right: v, gap: half(last) + half(v) + space });
      last = v;
    };
    for (const { cluster, members } of layer) {
      if (cluster >= 0) put(leftOf(cluster), BETWEEN);
      members.forEach((v, i) => put(v, cluster >= 0 && i === 0 ? PAD : v >= g.nodes && last >= 0 ? BETWEEN / 2 : BETWEEN));
      if (cluster >= 0) put(leftOf(cluster) + 1, members.length ? PAD : 0);
    }
  }
  clusters.forEach((least, c) => gaps.push({ left: leftOf(c), right: leftOf(c) + 1, gap: least + 2 * PAD }));
  return gaps;
}

/** The weight of a straight edge, which is largest between two joints. */
function pull(g: Layers, a: number, b: number): number {
  return a >= g.nodes && b >= g.nodes ? 8 : a >= g.nodes || b >= g.nodes ? 2 : 1;
}

function frames(g: Layers, x: Float64Array): void {
  for (let c = 0; c < g.reach.length; c++) {
    x[g.count + 2 * c] = Infinity;
    x[g.count + 2 * c + 1] = -Infinity;
  }
  for (let v = 0; v < g.count; v++) {
    const c = g.cluster[v]!;
    if (c < 0) continue;
    const [left, right] = [g.count + 2 * c, g.count + 2 * c + 1];
    x[left] = Math.min(x[left]!, x[v]! - g.width[v]! / 2 - PAD);
    x[right] = Math.max(x[right]!, x[v]! + g.width[v]! / 2 + PAD);
  }
  for (let k = g.count; k < x.length; k++) if (!Number.isFinite(x[k]!)) x[k] = 0;
}

/** x of all elements: each round moves elements to their neighbours, then separates them. */
function across(g: Layers, clusters: readonly number[]): Float64Array {
  const n = g.count + 2 * clusters.length;
  const gaps = gapsOf(g, clusters);
  const weight = new Float64Array(n).fill(1e-3);
  for (let v = 0; v < g.count; v++) weight[v] = v < g.nodes ? 1 : 4;
  let x = separate(new Float64Array(n), weight, gaps);
  const joints = g.chains.map((chain) => chain.filter((v) => v >= g.nodes)).filter((chain) => chain.length > 1);
  const rounds = g.count > LARGE ? ROUNDS / 2 : ROUNDS;
  for (let round = 0; round < rounds; round++) {
    const want = Float64Array.from(x);
    for (let v = 0; v < g.count; v++) {
      let sum = 0;
      let of = 0;
      for (const near of [g.above[v]!, g.below[v]!])
        for (const u of near) {
          const p = pull(g, u, v);
          sum += x[u]! * p;
          of += p;
        }
      if (of) want[v] = x[v]! * 0.25 + (sum / of) * 0.75;
    }
    // move all joints of an edge to one line; neighbour by neighbour this would take a round for each layer
    for (const chain of joints) {
      const middle = chain.reduce((sum, v) => sum + x[v]!, 0) / chain.length;
      for (const v of chain) want[v] = want[v]! * 0.4 + middle * 0.6;
    }
    frames(g, want);
    x = separate(want, weight, gaps);
  }
  return x;
}

/** The top and height of each layer, and the bottom of the last one. */
function down(g: Layers, nodes: readonly LayerNode[]): { top: number[]; height: number[]; end: number } {
  const height = g.order.map(() => 0);
  nodes.forEach((node, v) => (height[g.layer[v]!] = Math.max(height[g.layer[v]!]!, node.height)));
  const top: number[] = [];
  let at = MARGIN + TITLE;
  for (const h of height) {
    top.push(at);
    at += h + LAYER;
  }
  return { top, height, end: at - LAYER + MARGIN + PAD };
}

function frame(g: Layers, c: number, x: Float64Array, least: number, y: { top: number[]; height: number[] }): Box | undefined {
  const { first, last } = g.reach[c]!;
  if (first > last) return undefined;
  const inner = { left: Infinity, right: -Infinity };
  for (let v = 0; v < g.count; v++) {
    if (g.cluster[v] !== c) continue;
    inner.left = Math.min(inner.left, x[v]! - g.width[v]! / 2 - PAD);
    inner.right = Math.max(inner.right, x[v]! + g.width[v]! / 2 + PAD);
  }
  const right = Math.max(inner.right, Math.min(x[g.count + 2 * c + 1]!, inner.left + least + 2 * PAD));
  const left = Math.min(inner.left, right - least - 2 * PAD);
  const top = y.top[first]! - TITLE;
  return { x: left, y: top, width: right - left, height: y.top[last]! + y.height[last]! + PAD - top };
}

export function layout(wanted: Wanted): Layout {
  const { nodes, edges, clusters } = wanted;
  const g = layers(nodes, edges, clusters.length);
  const x = across(g, clusters);
  const y = down(g, nodes);
  const boxes = clusters.map((least, c) => frame(g, c, x, least, y));
  let left = Infinity;
  let right = -Infinity;
  for (let v = 0; v < g.count; v++) {
    left = Math.min(left, x[v]! - g.width[v]! / 2);
    right = Math.max(right, x[v]! + g.width[v]! / 2);
  }
  for (const box of boxes) {
    left = Math.min(left, box?.x ?? left);
    right = Math.max(right, (box?.x ?? left) + (box?.width ?? 0));
  }
  if (!g.count) return { width: 0, height: 0, nodes: [], edges: [], clusters: boxes };
  const shift = MARGIN - left;
  const middle = (v: number): number => x[v]! + shift;
  return {
    width: right - left + 2 * MARGIN,
    height: y.end,
    nodes: nodes.map(({ width, height }, v) => ({
      x: middle(v) - width / 2,
      y: y.top[g.layer[v]!]! + (y.height[g.layer[v]!]! - height) / 2,
      width,
      height,
    })),
    edges: g.chains.map((chain, e) => ({ points: way(g, chain, nodes, middle, y, g.upwards[e]!), upwards: g.upwards[e]! })),
    clusters: boxes.map((box) => box && { ...box, x: box.x + shift }),
  };
}

/** The points from the bottom of a node through the joints to the top of the other node. */
function way(
  g: Layers,
  chain: readonly number[],
  nodes: readonly LayerNode[],
  middle: (v: number) => number,
  y: { top: number[]; height: number[] },
  upwards: boolean,
): number[] {
  const points: [number, number][] = chain.map((v, i) => {
    const layer = g.layer[v]!;
    const top = y.top[layer]!;
    const slack = (y.height[layer]! - (nodes[v]?.height ?? 0)) / 2;
    if (i === 0) return [middle(v), top + y.height[layer]! - slack];
    return i === chain.length - 1 ? [middle(v), top + slack] : [middle(v), top + y.height[layer]! / 2];
  });
  return (upwards ? points.reverse() : points).flat();
}
