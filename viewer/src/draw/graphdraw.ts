// SPDX-License-Identifier: BSD-3-Clause
// The picture of a call graph: its contents, its camera and its drawing.
import { type CallGraph, type Picked, pick, ownCalls, type PickOptions } from "../calltree/callgraph";
import { type Measure, change, largestChange } from "../data/change";
import { TITLE, layout, type Layout } from "./layout";
import { shorten } from "../data/units";

export const NODE_HEIGHT = 42;
const FONT = "12px system-ui, sans-serif";
const SMALL = "11px system-ui, sans-serif";
const MAX_NAME = 240; // pixels; longest name of a node
const PAD = 9;
const STUB = 13; // pixels
const READABLE = 0.75; // scale below which labels are hard to read
const LEGIBLE = 0.5; // scale below which labels cannot be read

export interface NodeText {
  readonly module: string;
  readonly name: string;
  readonly numbers: string;
}

/** A graph with its layout; an index is that of a node in the picture. */
export interface Picture {
  readonly graph: CallGraph;
  readonly picked: Picked;
  readonly layout: Layout;
  readonly texts: NodeText[];
  readonly clusters: string[];
  readonly total: number;
  readonly indexOf: Map<number, number>; // index by region
  /** The change since the other run, from -1 to 1, of each function, and of each call. */
  readonly change: number[] | undefined;
  readonly edgeChange: number[] | undefined;
}

export interface Words {
  module: (region: number) => string;
  name: (region: number) => string;
  numbers: (region: number, recursive: number) => string;
}

let ruler: CanvasRenderingContext2D | null = null;

export function measured(text: string, font: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return text.length * 7;
  ruler.font = font;
  return ruler.measureText(text).width;
}

/** The graph of the other run, with the same regions and edges, for the colours of changes. */
export interface Beside {
  graph: CallGraph;
  measure: Measure;
}

export function picture(graph: CallGraph, options: PickOptions, framed: boolean, words: Words, beside?: Beside): Picture {
  const picked = pick(graph, options);
  const texts = Array.from(picked.nodes, (region) => ({
    module: words.module(region),
    name: words.name(region),
    numbers: words.numbers(region, ownCalls(graph, region)),
  }));
  const modules = new Map<string, number>();
  for (const { module } of texts) modules.set(module, (modules.get(module) ?? 0) + 1);
  // a frame around a single function has no information
  const clusters = framed ? [...modules].filter(([module, n]) => module && n > 1).map(([module]) => module) : [];
  const indexOf = new Map(Array.from(picked.nodes, (region, i) => [region, i]));
  const laid = layout({
    nodes: texts.map((text) => ({
      width: 2 * PAD + 4 + Math.max(Math.min(MAX_NAME, measured(text.name, FONT)), measured(text.numbers, SMALL), 60),
      height: NODE_HEIGHT,
      cluster: clusters.indexOf(text.module),
    })),
    edges: Array.from(picked.edges, (e) => ({ from: indexOf.get(graph.caller[e]!)!, to: indexOf.get(graph.callee[e]!)! })),
    clusters: clusters.map((name) => Math.min(MAX_NAME, measured(name, SMALL))),
  });
  const { change, edgeChange } = changes(graph, picked, beside);
  return { graph, picked, layout: laid, texts, clusters, total: options.total, indexOf, change, edgeChange };
}

function changes(now: CallGraph, { nodes, edges }: Picked, beside: Beside | undefined): Pick<Picture, "change" | "edgeChange"> {
  if (!beside) return { change: undefined, edgeChange: undefined };
  const { graph, measure } = beside; // of the same tree, so regions and edges have the same indices
  const largest = largestChange(now.incl, graph.incl);
  return {
    change: Array.from(nodes, (region) => change(now.incl[region]!, graph.incl[region]!, measure, largest)),
    edgeChange: Array.from(edges, (e) => change(now.edgeIncl[e]!, graph.edgeIncl[e]!, measure, largest)),
  };
}

/** The visible part of the picture: screen = (x + left) * scale. */
export interface Camera {
  readonly left: number;
  readonly top: number;
  readonly scale: number;
}

export function fitted({ layout }: Picture, width: number, height: number): Camera {
  const scale = Math.min(1, width / Math.max(1, layout.width), height / Math.max(1, layout.height));
  return { scale, left: (width / scale - layout.width) / 2, top: Math.max(0, (height / scale - layout.height) / 2) };
}

/** The first picture of some, given by their number of functions, in which all of the graph is readable; otherwise the last one. */
export function fitting(limits: readonly number[], make: (limit: number) => Picture, width: number, height: number): Picture {
  const made = new Map<number, Picture>();
  const of = (i: number): Picture => made.get(i) ?? (made.set(i, make(limits[i]!)), made.get(i)!);
  let [low, high] = [0, limits.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fitted(of(middle), width, height).scale >= READABLE) high = middle;
    else low = middle + 1;
  }
  return of(low);
}

/** A camera that shows the whole graph if its labels can be read, otherwise the node and as little empty space as possible. */
export function readable(p: Picture, node: number, width: number, height: number): Camera {
  const fit = fitted(p, width, height);
  const box = p.layout.nodes[node];
  if (fit.scale >= LEGIBLE || !box) return fit;
  const { scale, left, top } = centred(box, READABLE, width, height / 2);
  const within = (at: number, room: number, size: number): number =>
    size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, at));
  return { scale, left: within(left, width / scale, p.layout.width), top: within(top, height / scale, p.layout.height) };
}

export function centred(box: { x: number; y: number; width: number; height: number }, scale: number, width: number, height: number): Camera {
  return { scale, left: width / 2 / scale - (box.x + box.width / 2), top: height / 2 / scale - (box.y + box.height / 2) };
}

export function zoomed(camera: Camera, by: number, x: number, y: number): Camera {
  const scale = Math.min(3, Math.max(0.05, camera.scale * by));
  return { scale, left: camera.left + x / scale - x / camera.scale, top: camera.top + y / scale - y / camera.scale };
}

export function nodeAt(p: Picture, camera: Camera, x: number, y: number): number {
  const px = x / camera.scale - camera.left;
  const py = y / camera.scale - camera.top;
  return p.layout.nodes.findIndex((box) => px >= box.x && px <= box.x + box.width && py >= box.y && py <= box.y + box.height);
}

/** The node that an arrow key selects: down and up along the call with the most time, sideways to the next one in the layer. */
export function stepped(p: Picture, node: number, key: string): number {
  const region = p.picked.nodes[node];
  const { graph } = p;
  if (key === "ArrowDown" || key === "ArrowUp") {
    const [near, far] = key === "ArrowDown" ? [graph.caller, graph.callee] : [graph.callee, graph.caller];
    const edge = p.picked.edges.find((e) => near[e] === region);
    return edge === undefined ? -1 : p.indexOf.get(far[edge]!)!;
  }
  const here = p.layout.nodes[node];
  const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (!here || !by) return -1;
  let best = -1;
  p.layout.nodes.forEach((box, i) => {
    const away = (box.x - here.x) * by;
    if (i === node || Math.abs(box.y - here.y) > 1 || away <= 0) return;
    if (best < 0 || away < (p.layout.nodes[best]!.x - here.x) * by) best = i;
  });
  return best;
}

export interface Paint {
  paper: string;
  raised: string;
  ink: string;
  soft: string;
  line: string;
  accent: string;
  colour: (region: number) => string;
  /** The colour of a change from -1 to 1. */
  changed: (change: number) => string;
  /** The colour of functions that are not highlighted. */
  muted: string;
  highlighted: (region: number) => boolean;
}

/** Curves that leave and reach the nodes vertically. */
function curve(pen: CanvasRenderingContext2D, points: readonly number[]): void {
  pen.beginPath();
  pen.moveTo(points[0]!, points[1]!);
  for (let i = 2; i < points.length; i += 2) {
    const [x, y, u, v] = [points[i - 2]!, points[i - 1]!, points[i]!, points[i + 1]!];
    const bend = (v - y) / 2;
    pen.bezierCurveTo(x, y + bend, u, v - bend, u, v);
  }
  pen.stroke();
}

function arrow(pen: CanvasRenderingContext2D, points: readonly number[], size: number): void {
  const x = points[points.length - 2]!;
  const y = points[points.length - 1]!;
  const up = y < points[points.length - 3]! ? -1 : 1;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x - size, y - up * size * 1.6);
  pen.lineTo(x + size, y - up * size * 1.6);
  pen.fill();
}

function drawEdges(pen: CanvasRenderingContext2D, p: Picture, paint: Paint, node: number): void {
  const region = p.picked.nodes[node];
  const { graph } = p;
  p.layout.edges.forEach(({ points, upwards }, k) => {
    const e = p.picked.edges[k]!;
    const share = graph.edgeIncl[e]! / p.total;
    const near = graph.caller[e] === region || graph.callee[e] === region;
    pen.strokeStyle = pen.fillStyle = near ? paint.accent : p.edgeChange ? paint.changed(p.edgeChange[k]!) : paint.soft;
    pen.globalAlpha = near || p.edgeChange ? 1 : 0.35 + 0.5 * Math.sqrt(Math.min(1, share));
    pen.lineWidth = 0.8 + 5 * Math.sqrt(Math.min(1, share));
    pen.setLineDash(upwards ? [6, 4] : []);
    curve(pen, points);
    pen.setLineDash([]);
    arrow(pen, points, 3 + pen.lineWidth / 2);
  });
  pen.globalAlpha = 1;
}

/** A short dotted line into a function none of whose callers is drawn. */
function drawStub(pen: CanvasRenderingContext2D, box: { x: number; y: number; width: number }, paint: Paint): void {
  const way = [box.x + box.width / 2, box.y - STUB, box.x + box.width / 2, box.y];
  pen.strokeStyle = pen.fillStyle = paint.soft;
  pen.lineWidth = 1;
  pen.setLineDash([2, 2]);
  curve(pen, way);
  pen.setLineDash([]);
  arrow(pen, way, 3);
}

function drawNodes(pen: CanvasRenderingContext2D, p: Picture, paint: Paint, chosen: number): void {
  const measure = (text: string): number => pen.measureText(text).width;
  p.layout.nodes.forEach((box, i) => {
    const text = p.texts[i]!;
    const region = p.picked.nodes[i]!;
    if (p.picked.stubs.has(region)) drawStub(pen, box, paint);
    const full = paint.highlighted(region);
    pen.fillStyle = !full ? paint.muted : p.change ? paint.changed(p.change[i]!) : paint.colour(region);
    pen.fillRect(box.x, box.y, box.width, box.height);
    pen.fillStyle = paint.paper;
    pen.fillRect(box.x + 1, box.y + 1, box.width - 2, 4);
    pen.fillStyle = paint.accent; // fraction of the whole time: inclusive, and exclusive
    pen.fillRect(box.x + 1, box.y + 1, (box.width - 2) * Math.min(1, p.graph.incl[region]! / p.total), 2);
    pen.fillRect(box.x + 1, box.y + 1, (box.width - 2) * Math.min(1, p.graph.excl[region]! / p.total), 4);
    pen.fillStyle = full ? paint.ink : paint.soft;
    pen.font = FONT;
    pen.fillText(shorten(text.name, box.width - 2 * PAD, measure), box.x + PAD, box.y + 15);
    pen.font = SMALL;
    pen.fillText(text.numbers, box.x + PAD, box.y + 31);
    if (i !== chosen) return;
    pen.strokeStyle = paint.accent;
    pen.lineWidth = 3;
    pen.strokeRect(box.x - 2, box.y - 2, box.width + 4, box.height + 4);
  });
}

export function draw(pen: CanvasRenderingContext2D, p: Picture, camera: Camera, width: number, height: number, paint: Paint, chosen: number): void {
  pen.fillStyle = paint.paper;
  pen.fillRect(0, 0, width, height);
  pen.save();
  pen.scale(camera.scale, camera.scale);
  pen.translate(camera.left, camera.top);
  pen.textBaseline = "middle";
  pen.font = SMALL;
  p.layout.clusters.forEach((box, c) => {
    if (!box) return;
    pen.fillStyle = paint.raised;
    pen.strokeStyle = paint.line;
    pen.lineWidth = 1;
    pen.fillRect(box.x, box.y, box.width, box.height);
    pen.strokeRect(box.x, box.y, box.width, box.height);
    pen.fillStyle = paint.soft;
    pen.fillText(shorten(p.clusters[c]!, box.width - 12, (t) => pen.measureText(t).width), box.x + 7, box.y + TITLE / 2);
  });
  drawEdges(pen, p, paint, chosen);
  drawNodes(pen, p, paint, chosen);
  pen.restore();
}
