// SPDX-License-Identifier: BSD-3-Clause
// Layered drawing of a directed graph, callers above callees (Sugiyama, Tagawa and Toda, 1981): assigns nodes to layers, then orders the
// nodes of each layer to reduce crossings of edges. Nodes of a cluster are adjacent, and any two clusters have the same order in all
// layers, so each cluster can have a frame without other nodes.

export interface LayerNode {
  readonly width: number;
  readonly height: number;
  /** Index of a cluster; -1: none. */
  readonly cluster: number;
}

/** Indices of two different nodes; no two edges have the same pair. */
export interface LayerEdge {
  readonly from: number;
  readonly to: number;
}

/** The elements of a graph: the nodes, followed by a joint for each layer that an edge crosses. */
export interface Layers {
  readonly nodes: number;
  readonly count: number;
  readonly layer: Int32Array;
  readonly width: Float64Array;
  readonly cluster: Int32Array; // -1: none
  readonly above: number[][];
  readonly below: number[][];
  /** For each edge its elements, from the upper to the lower one. */
  readonly chains: number[][];
  /** Whether an edge goes upwards. */
  readonly upwards: boolean[];
  /** First and last layer of each cluster; first > last: it has no nodes. */
  readonly reach: { first: number; last: number }[];
  /** For each layer its groups from left to right. */
  order: Group[][];
}

/** Adjacent elements of a layer: those of a cluster, which may be none, or a single element. */
export interface Group {
  readonly cluster: number; // -1: a single element
  members: number[];
}

const JOINT = 6; // pixels; width of an edge
const GAP = 16;
const ROUNDS = 14; // number of sweeps; half of it for large graphs
const LARGE = 1000; // elements

/** The edges to reverse for a graph without cycles: those to a node on the path of the depth-first search. */
function turned(n: number, edges: readonly LayerEdge[]): boolean[] {
  const out: number[][] = Array.from({ length: n }, () => []);
  edges.forEach(({ from }, e) => out[from]!.push(e));
  const state = new Uint8Array(n); // 1: on the current path, 2: done
  const next = new Uint32Array(n);
  const up = edges.map(() => false);
  for (let root = 0; root < n; root++) {
    const way = state[root] ? [] : [root];
    if (way.length) state[root] = 1;
    while (way.length) {
      const at = way[way.length - 1]!;
      const e = out[at]![next[at]!++];
      if (e === undefined) {
        state[at] = 2;
        way.pop();
        continue;
      }
      const { to } = edges[e]!;
      if (state[to] === 1) up[e] = true;
      else if (!state[to]) {
        state[to] = 1;
        way.push(to);
      }
    }
  }
  return up;
}

/** Each node as high as its callers permit, then lower if that shortens edges. */
function layersOf(n: number, down: readonly LayerEdge[]): Int32Array {
  const layer = new Int32Array(n);
  const into: number[][] = Array.from({ length: n }, () => []);
  const out: number[][] = Array.from({ length: n }, () => []);
  const left = new Uint32Array(n);
  for (const { from, to } of down) {
    into[to]!.push(from);
    out[from]!.push(to);
    left[to]!++;
  }
  const order = Array.from(layer.keys()).filter((v) => !left[v]);
  for (let i = 0; i < order.length; i++)
    for (const to of out[order[i]!]!) {
      layer[to] = Math.max(layer[to]!, layer[order[i]!]! + 1);
      if (--left[to]! === 0) order.push(to);
    }
  for (let round = 0; round < 8; round++)
    for (const v of [...order].reverse())
      if (out[v]!.length > into[v]!.length) layer[v] = Math.min(...out[v]!.map((to) => layer[to]!)) - 1;
  return layer;
}

/** The cluster of an edge's joint: of the caller in its layers, below them of the callee. */
function clusterAt(layer: number, upper: number, lower: number, reach: Layers["reach"]): number {
  const within = (c: number): boolean => c >= 0 && reach[c]!.first <= layer && layer <= reach[c]!.last;
  return within(lower) ? lower : within(upper) ? upper : -1;
}

function reachOf(nodes: readonly LayerNode[], layer: Int32Array, clusters: number): Layers["reach"] {
  const reach = Array.from({ length: clusters }, () => ({ first: Infinity, last: -1 }));
  nodes.forEach(({ cluster }, v) => {
    const of = reach[cluster];
    if (!of) return;
    of.first = Math.min(of.first, layer[v]!);
    of.last = Math.max(of.last, layer[v]!);
  });
  return reach;
}

function build(nodes: readonly LayerNode[], edges: readonly LayerEdge[], clusters: number): Layers {
  const upwards = turned(nodes.length, edges);
  const down = edges.map(({ from, to }, e) => (upwards[e] ? { from: to, to: from } : { from, to }));
  const layer = [...layersOf(nodes.length, down)];
  const reach = reachOf(nodes, Int32Array.from(layer), clusters);
  const width = nodes.map((node) => node.width);
  const cluster = nodes.map((node) => node.cluster);
  const chains = down.map(({ from, to }) => {
    const chain = [from];
    for (let at = layer[from]! + 1; at < layer[to]!; at++) {
      chain.push(layer.push(at) - 1);
      width.push(JOINT);
      cluster.push(clusterAt(at, nodes[from]!.cluster, nodes[to]!.cluster, reach));
    }
    chain.push(to);
    return chain;
  });
  const above: number[][] = layer.map(() => []);
  const below: number[][] = layer.map(() => []);
  for (const chain of chains)
    for (let i = 1; i < chain.length; i++) {
      above[chain[i]!]!.push(chain[i - 1]!);
      below[chain[i - 1]!]!.push(chain[i]!);
    }
  return {
    nodes: nodes.length,
    count: layer.length,
    layer: Int32Array.from(layer),
    width: Float64Array.from(width),
    cluster: Int32Array.from(cluster),
    above,
    below,
    chains,
    upwards,
    reach,
    order: [],
  };
}

/** The first order: that of a depth-first search from the top. */
function firstOrder(g: Layers): Group[][] {
  const depth = g.count ? Math.max(...g.layer) + 1 : 0;
  const order: Group[][] = Array.from({ length: depth }, () => []);
  const groups = new Map<number, Group>(); // key: layer * clusters + cluster
  const group = (layer: number, cluster: number): Group => {
    const key = layer * g.reach.length + cluster;
    let found = groups.get(key);
    if (!found) {
      found = { cluster, members: [] };
      groups.set(key, found);
      order[layer]!.push(found);
    }
    return found;
  };
  const seen = new Uint8Array(g.count);
  const roots = Array.from(seen.keys()).sort((a, b) => g.layer[a]! - g.layer[b]! || a - b);
  for (const root of roots) {
    const stack = [root];
    while (stack.length) {
      const v = stack.pop()!;
      if (seen[v]) continue;
      seen[v] = 1;
      if (g.cluster[v]! >= 0) group(g.layer[v]!, g.cluster[v]!).members.push(v);
      else order[g.layer[v]!]!.push({ cluster: -1, members: [v] });
      stack.push(...[...g.below[v]!].reverse());
    }
  }
  g.reach.forEach(({ first, last }, c) => {
    for (let layer = first; layer <= last; layer++) group(layer, c);
  });
  return order;
}

/** Positions of the elements if each layer is packed around its middle. */
function pack(g: Layers, layer: readonly Group[], x: Float64Array, middle: Float64Array): void {
  let width = 0;
  for (const group of layer) for (const v of group.members) width += g.width[v]! + GAP;
  let at = -width / 2;
  for (const group of layer) {
    const from = at;
    for (const v of group.members) {
      x[v] = at + g.width[v]! / 2;
      at += g.width[v]! + GAP;
    }
    if (group.cluster >= 0 && group.members.length) middle[group.cluster] = (middle[group.cluster]! + (from + at) / 2) / 2;
  }
}

const mean = (values: readonly number[], x: Float64Array): number => values.reduce((sum, v) => sum + x[v]!, 0) / values.length;

/** Sorts a layer by the mean position of neighbours in the previous layer; a cluster by its position in all layers. */
function sortLayer(g: Layers, layer: Group[], next: readonly number[][], x: Float64Array, middle: Float64Array): void {
  const want = (v: number): number => (next[v]!.length ? mean(next[v]!, x) : x[v]!);
  for (const group of layer) if (group.members.length > 1) sortBy(group.members, want);
  const place = (group: Group): number => (group.cluster >= 0 ? middle[group.cluster]! + group.cluster * 1e-6 : want(group.members[0]!));
  sortBy(layer, place);
  pack(g, layer, x, middle);
}

function sortBy<T>(list: T[], key: (item: T) => number): void {
  const keys = new Map(list.map((item) => [item, key(item)]));
  list.sort((a, b) => keys.get(a)! - keys.get(b)!);
}

function crossings(g: Layers, order: readonly Group[][], position: Uint32Array): number {
  let sum = 0;
  for (const layer of order) {
    let at = 0;
    for (const group of layer) for (const v of group.members) position[v] = at++;
  }
  for (const layer of order) {
    const ends: number[] = [];
    for (const group of layer)
      for (const v of group.members) {
        const below = g.below[v]!;
        if (below.length === 1) ends.push(position[below[0]!]!);
        else for (const end of below.map((to) => position[to]!).sort((a, b) => a - b)) ends.push(end);
      }
    sum += inversions(ends);
  }
  return sum;
}

/** Number of pairs in the wrong order, with a Fenwick tree. */
function inversions(list: readonly number[]): number {
  let size = 2;
  for (const value of list) if (value + 2 > size) size = value + 2;
  const tree = new Uint32Array(size + 1);
  let sum = 0;
  list.forEach((value, seen) => {
    let upTo = 0;
    for (let i = value + 1; i > 0; i -= i & -i) upTo += tree[i]!;
    sum += seen - upTo;
    for (let i = value + 1; i <= size; i += i & -i) tree[i]!++;
  });
  return sum;
}

const copied = (order: readonly Group[][]): Group[][] =>
  order.map((layer) => layer.map(({ cluster, members }) => ({ cluster, members: [...members] })));

/** The order with the fewest crossings of several sweeps down and up. */
function arrange(g: Layers): void {
  const order = firstOrder(g);
  const x = new Float64Array(g.count);
  const middle = new Float64Array(g.reach.length);
  for (const layer of order) pack(g, layer, x, middle);
  const position = new Uint32Array(g.count);
  let best = Infinity;
  const rounds = g.count > LARGE ? ROUNDS / 2 : ROUNDS;
  for (let round = 0; round < rounds; round++) {
    const down = round % 2 === 0;
    for (let i = 0; i < order.length; i++) {
      const layer = order[down ? i : order.length - 1 - i]!;
      sortLayer(g, layer, down ? g.above : g.below, x, middle);
    }
    // clusters may have moved in the sweep: sort all layers by the same positions
    for (const layer of order) {
      sortBy(layer, (group) => (group.cluster >= 0 ? middle[group.cluster]! + group.cluster * 1e-6 : x[group.members[0]!]!));
    }
    const now = crossings(g, order, position);
    if (now < best) {
      best = now;
      g.order = copied(order);
    }
  }
}

export function layers(nodes: readonly LayerNode[], edges: readonly LayerEdge[], clusters: number): Layers {
  const g = build(nodes, edges, clusters);
  arrange(g);
  return g;
}
