// SPDX-License-Identifier: BSD-3-Clause
// The call tree folded to a graph of functions and calls, and the selection of nodes and edges for a picture.
import { NONE, PairMap, callerOf, isCall, subtreeEnds, type Paths } from "./paths";

/** Columns by region and by edge. Inclusive time counts recursion once: only the outermost call of a function, or of an edge, on a stack. */
export interface CallGraph {
  readonly regions: number;
  readonly incl: Float64Array;
  readonly excl: Float64Array;
  readonly visits: Float64Array;
  readonly edges: number;
  readonly caller: Uint32Array;
  readonly callee: Uint32Array;
  readonly edgeIncl: Float64Array;
  readonly edgeVisits: Float64Array;
  /** Number of paths that the tree has only as sums. */
  readonly hidden: number;
}

/** The edges exclude the calls from the start of the program. */
export function callGraph(paths: Paths, regions: number): CallGraph {
  const end = subtreeEnds(paths);
  const incl = new Float64Array(regions);
  const excl = new Float64Array(regions);
  const visits = new Float64Array(regions);
  const until = new Uint32Array(regions); // row after the outermost call's subtree
  const pairs = new PairMap(4096);
  const edgeOf = new Uint32Array(paths.count).fill(NONE);
  let hidden = 0;
  for (let i = 0; i < paths.count; i++) {
    hidden += paths.hidden[i]!;
    if (!isCall(paths, i)) continue;
    const region = paths.region[i]!;
    excl[region]! += paths.excl[i]!;
    visits[region]! += paths.visits[i]!;
    if (i >= until[region]!) {
      until[region] = end[i]!;
      incl[region]! += paths.incl[i]!;
    }
    const up = paths.parent[i]!;
    if (up !== NONE && isCall(paths, up)) edgeOf[i] = pairs.add(callerOf(paths, i), region);
  }
  const edges = pairs.size;
  const edgeIncl = new Float64Array(edges);
  const edgeVisits = new Float64Array(edges);
  const edgeUntil = new Uint32Array(edges);
  for (let i = 0; i < paths.count; i++) {
    const edge = edgeOf[i]!;
    if (edge === NONE) continue;
    edgeVisits[edge]! += paths.visits[i]!;
    if (i >= edgeUntil[edge]!) {
      edgeUntil[edge] = end[i]!;
      edgeIncl[edge]! += paths.incl[i]!;
    }
  }
  const caller = Uint32Array.from({ length: edges }, (_, e) => pairs.firstOf(e));
  const callee = Uint32Array.from({ length: edges }, (_, e) => pairs.secondOf(e));
  return { regions, incl, excl, visits, edges, caller, callee, edgeIncl, edgeVisits, hidden };
}

export interface PickOptions {
  /** Time of the whole run, in seconds. */
  readonly total: number;
  /** Smallest fraction of the total time of a function, and of a call, to be drawn. */
  readonly node: number;
  readonly edge: number;
  readonly limit: number;
  /** Maximum of calls; those with the most time are drawn. More are drawn only to connect a function that has no other call. */
  readonly edgeLimit?: number;
  /** Draw only functions that reach, or are reached from, this function. */
  readonly around?: number;
}

export interface Picked {
  /** Regions, in descending order of inclusive time; then smaller ones that connect them. */
  readonly nodes: Uint32Array;
  /** Edges between them, in descending order of inclusive time, without self-calls. They include the largest edge of each function that has
   * no other edge, even if it is small. */
  readonly edges: Uint32Array;
  /** Functions in the picture that are called, but none of whose calls is drawn. */
  readonly stubs: ReadonlySet<number>;
  /** Functions that are large enough but exceed the limit. */
  readonly beyond: Uint32Array;
  /** Number of functions that are too small, and of calls that are too small or exceed the limit. */
  readonly small: number;
  readonly smallEdges: number;
}

function indices(n: number, wanted: (i: number) => boolean): number[] {
  const out: number[] = [];
  for (let i = 0; i < n; i++) if (wanted(i)) out.push(i);
  return out;
}

/** Marks the functions that can be reached from one function along the calls, or against them, including itself. */
function reached(graph: CallGraph, from: number, forward: boolean, into: Uint8Array): void {
  const near = forward ? graph.caller : graph.callee;
  const far = forward ? graph.callee : graph.caller;
  const begin = new Uint32Array(graph.regions + 1);
  for (let e = 0; e < graph.edges; e++) begin[near[e]! + 1]!++;
  for (let r = 0; r < graph.regions; r++) begin[r + 1]! += begin[r]!;
  const sorted = new Uint32Array(graph.edges);
  const place = begin.slice();
  for (let e = 0; e < graph.edges; e++) sorted[place[near[e]!]!++] = e;
  const seen = new Uint8Array(graph.regions);
  const stack = [from];
  seen[from] = 1;
  while (stack.length) {
    const region = stack.pop()!;
    into[region] = 1;
    for (let k = begin[region]!; k < begin[region + 1]!; k++) {
      const other = far[sorted[k]!]!;
      if (!seen[other]) {
        seen[other] = 1;
        stack.push(other);
      }
    }
  }
}

/** The calls to draw between visible functions, by time. */
function drawnCalls(graph: CallGraph, between: readonly number[], { total, edge, edgeLimit }: PickOptions): number[] {
  const sorted = [...between].sort((a, b) => graph.edgeIncl[b]! - graph.edgeIncl[a]! || a - b);
  const linked = new Uint8Array(graph.regions);
  const called = new Uint8Array(graph.regions);
  return sorted.filter((e, i) => {
    const [caller, callee] = [graph.caller[e]!, graph.callee[e]!];
    const large = graph.edgeIncl[e]! >= edge * total && i < (edgeLimit ?? sorted.length);
    if (!large && linked[caller] && called[callee]) return false;
    linked[caller] = linked[callee] = called[callee] = 1;
    return true;
  });
}

const VIA = 8; // maximum of callers that connect a function

/** The functions that connect those without a caller in the picture to it, or to their outermost caller: the callers with the most time. */
function connecting(graph: CallGraph, nodes: readonly number[], shown: Uint8Array): number[] {
  const largest = new Int32Array(graph.regions).fill(-1); // of the calls of each function
  const called = new Uint8Array(graph.regions);
  for (let e = 0; e < graph.edges; e++) {
    const [caller, callee] = [graph.caller[e]!, graph.callee[e]!];
    if (caller === callee) continue;
    if (shown[caller]) called[callee] = 1;
    if (largest[callee]! < 0 || graph.edgeIncl[e]! > graph.edgeIncl[largest[callee]!]!) largest[callee] = e;
  }
  const added: number[] = [];
  for (const node of nodes) {
    if (called[node] || largest[node]! < 0) continue;
    const way: number[] = [];
    let at = node;
    while (way.length <= VIA && largest[at]! >= 0) {
      at = graph.caller[largest[at]!]!;
      if (shown[at] || at === node || way.includes(at)) break;
      way.push(at);
    }
    if (way.length > VIA) continue;
    for (const via of way) shown[via] = 1;
    added.push(...way);
  }
  return added;
}

function stubsOf(graph: CallGraph, nodes: readonly number[], drawn: readonly number[]): Set<number> {
  const called = new Set<number>();
  for (let e = 0; e < graph.edges; e++) if (graph.caller[e] !== graph.callee[e]) called.add(graph.callee[e]!);
  for (const e of drawn) called.delete(graph.callee[e]!);
  return new Set(nodes.filter((r) => called.has(r)));
}

export function pick(graph: CallGraph, options: PickOptions): Picked {
  const { total, limit, around } = options;
  const kept = new Uint8Array(graph.regions);
  if (around === undefined) kept.fill(1);
  else {
    reached(graph, around, true, kept);
    reached(graph, around, false, kept);
  }
  const called = indices(graph.regions, (r) => kept[r] === 1 && (graph.visits[r]! > 0 || graph.incl[r]! > 0));
  const large = called.filter((r) => r === around || graph.incl[r]! >= options.node * total);
  large.sort((a, b) => Number(b === around) - Number(a === around) || graph.incl[b]! - graph.incl[a]! || a - b);
  const shown = new Uint8Array(graph.regions);
  const nodes = large.slice(0, limit);
  for (const r of nodes) shown[r] = 1;
  if (around === undefined) nodes.push(...connecting(graph, nodes, shown));
  const between = indices(
    graph.edges,
    (e) => shown[graph.caller[e]!] === 1 && shown[graph.callee[e]!] === 1 && graph.caller[e] !== graph.callee[e],
  );
  const edges = drawnCalls(graph, between, options);
  const beyond = large.slice(limit).filter((r) => !shown[r]);
  return {
    nodes: Uint32Array.from(nodes),
    edges: Uint32Array.from(edges),
    stubs: stubsOf(graph, nodes, edges),
    beyond: Uint32Array.from(beyond),
    small: called.length - nodes.length - beyond.length,
    smallEdges: between.length - edges.length,
  };
}

/** The smallest of some fractions with which at most `limit` functions remain, so the first picture is clear; the largest fraction if all
 * leave more. */
export function shareFor(graph: CallGraph, total: number, shares: readonly number[], limit: number): number {
  const rising = [...shares].sort((a, b) => a - b);
  const fits = rising.find((share) => {
    let n = 0;
    for (let r = 0; r < graph.regions; r++) if ((graph.visits[r]! > 0 || graph.incl[r]! > 0) && graph.incl[r]! >= share * total) n++;
    return n <= limit;
  });
  return fits ?? rising[rising.length - 1]!;
}

/** Number of direct recursive calls of a function. */
export function ownCalls(graph: CallGraph, region: number): number {
  for (let e = 0; e < graph.edges; e++)
    if (graph.caller[e] === region && graph.callee[e] === region) return graph.edgeVisits[e]!;
  return 0;
}
