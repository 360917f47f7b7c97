// SPDX-License-Identifier: BSD-3-Clause
// Draws the rows of a timeline: functions of each location, call stacks of open rows, messages, markers, selected range.
import { NONE } from "../data/columns";
import { blend } from "../draw/raster";
import { LANE, PAD, type Row, type Task } from "../data/rows";
import { TILE } from "./cache";
import { paintCritical } from "./critical";
import { LINES } from "./crowd";
import { fillCrowd } from "./crowddraw";
import type { Overview } from "./data";
import { extend, type Label, merged, paintLabels } from "./labels";
import { bundlesOf, paintMessages } from "./messages";
import type { Bundle, Bundles, Picture } from "./picture";

const SMALLEST = 3; // px; narrower boxes do not take part in labels
const LABELLED = 34; // px; a narrower box of one call has no label
const FADED = 0.72; // how much of the colour is gone where a thread waits all the time

/** Calls paint() with a clip of the rows' area. */
function inRows(p: Picture, paint: () => void): void {
  p.pen.save();
  p.pen.beginPath();
  p.pen.rect(p.left, p.top, p.width - p.left, p.height - p.top);
  p.pen.clip();
  paint();
  p.pen.restore();
}

export interface Line {
  row: Row;
  lane: number; // -1: the overview
  y: number;
  high: number;
}

function linesOf(p: Picture): Line[] {
  const found: Line[] = [];
  const [first, last] = p.layout.visible(p.scroll, p.scroll + p.height - p.top);
  for (let i = first; i < last; i++) {
    const row = p.layout.rows[i]!;
    const y = p.top + p.layout.tops[i]! - p.scroll;
    if (row.kind !== "task") found.push({ row, lane: -1, y, high: row.crowd ? p.layout.tops[i + 1]! - p.layout.tops[i]! : p.layout.row });
    const lanes = row.crowd ? 0 : Math.round((p.layout.tops[i + 1]! - p.layout.tops[i]! - p.layout.row - PAD) / LANE);
    for (let lane = 0; lane < lanes; lane++) {
      const at = y + p.layout.row + lane * LANE;
      if (at + LANE > p.top && at < p.height) found.push({ row, lane, y: at, high: LANE });
    }
  }
  return found;
}

function ratioOf(p: Picture): number {
  return p.raster.width / Math.max(p.width - p.left, 1);
}

/** The known part [from, to) of a location's overview in pixels, and the index of the cell at a pixel. */
interface Cells {
  overview: Overview;
  from: number;
  to: number;
  cell: (x: number) => number;
}

function cellsOf(p: Picture, location: number): Cells[] {
  const ratio = ratioOf(p);
  const part = p.whole.end - p.whole.begin;
  return (p.overviews.get(p.blockOf(location))?.pieces ?? []).map((piece) => {
    const columns = 2 ** piece.level * TILE; // columns of the whole run
    const tile = Math.floor(((piece.begin + piece.end) / 2 - p.whole.begin) / (part / 2 ** piece.level));
    const row = (location - piece.value.first) * TILE;
    return {
      overview: piece.value,
      from: Math.max(Math.floor(p.scale.x(piece.begin) * ratio), 0),
      to: Math.min(Math.ceil(p.scale.x(piece.end) * ratio), p.raster.width),
      cell: (x) => {
        const time = p.scale.time((x + 0.5) / ratio) - p.whole.begin;
        return row + Math.min(Math.max(Math.floor((time / part) * columns) - tile * TILE, 0), TILE - 1);
      },
    };
  });
}

// of each pixel of a line: the waiting, and the function that waited
let waitingAt = new Uint8Array(0);
let waiterAt = new Uint32Array(0);

/** Makes a line of pixels paler where the location waited, so that waiting differs from work. Tiles share a pixel where they meet. */
export function fadeWaiting(p: Picture, location: number, at: number): void {
  const { pixels, width } = p.raster;
  if (waitingAt.length !== width) [waitingAt, waiterAt] = [new Uint8Array(width), new Uint32Array(width)];
  waitingAt.fill(0);
  for (const { overview, from, to, cell } of cellsOf(p, location))
    for (let x = from; x < to; x++) {
      waitingAt[x] = overview.waiting[cell(x)]!;
      waiterAt[x] = overview.region[cell(x)]!;
    }
  for (let x = 0; x < width; x++) {
    const [waiting, region, full] = [waitingAt[x]!, waiterAt[x]!, pixels[at + x]!];
    if (!waiting || full === p.inks.paperPixel) continue;
    pixels[at + x] = p.waits && region !== NONE ? blend(p.waits(region), full, waiting) : blend(full, p.inks.paperPixel, 255 - Math.round(waiting * FADED));
  }
}

let regionsAt = new Uint32Array(0); // the regions of a line's pixels

/** Fills a line of pixels with a location's overview. Returns the labels, of all tiles together. */
export function fillOverview(p: Picture, line: Line, at: number): Label[] {
  const { raster } = p;
  const { location } = line.row;
  const ratio = ratioOf(p);
  if (regionsAt.length !== raster.width) regionsAt = new Uint32Array(raster.width);
  regionsAt.fill(NONE);
  for (const { overview, from, to, cell } of cellsOf(p, location))
    for (let x = from; x < to; x++) {
      const i = cell(x);
      const region = overview.region[i]!;
      regionsAt[x] = region;
      raster.pixels[at + x] = region === NONE ? p.inks.paperPixel : blend(p.base(region, location), p.inks.paperPixel, 70 + ((overview.share[i]! * 185) >> 8));
    }
  const labels: Label[] = [];
  for (let x = 0, since = 0; x < raster.width; x++) {
    if (regionsAt[x + 1] === regionsAt[x]) continue;
    if (regionsAt[x] !== NONE && x + 1 - since >= SMALLEST * ratio)
      labels.push({ x0: since / ratio + p.left, x1: (x + 1) / ratio + p.left, y: line.y + p.layout.row / 2, region: regionsAt[x]!, calls: 0 });
    since = x + 1;
  }
  return merged(labels);
}

/** Fills a line of pixels with a depth of a call stack. A box of sufficient width ends a pixel early to separate it from the next, unless
 * that has more calls of the same function. Returns the labels: blocks of calls that are narrower than a pixel have one together. */
export function fillLane(p: Picture, line: Line, at: number): Label[] {
  const { raster, scale } = p;
  const ratio = ratioOf(p);
  const single = new Map<string, Label>();
  const many: Label[] = [];
  let since = Number.NaN; // begin of the last combined block, which may be in several tiles
  for (const piece of p.stacks.get(String(line.row.location))?.pieces ?? []) {
    const from = Math.max(Math.floor(scale.x(piece.begin) * ratio), 0);
    const to = Math.min(Math.ceil(scale.x(piece.end) * ratio), raster.width);
    if (to <= from) continue;
    raster.pixels.fill(p.inks.paperPixel, at + from, at + to);
    const s = piece.value;
    const [first, last] = s.within(line.lane, Math.max(piece.begin, scale.span.begin), Math.min(piece.end, scale.span.end));
    for (let i = first; i < last; i++) {
      const x0 = scale.x(s.begin[i]!) * ratio;
      const x1 = scale.x(s.end[i]!) * ratio;
      const a = Math.min(Math.max(Math.floor(x0), from), to - 1);
      const b = Math.min(Math.max(Math.round(x1), a + 1), to);
      const calls = s.calls[i]!;
      const goesOn = calls > 1 && i + 1 < last && s.calls[i + 1]! > 1 && s.region[i + 1] === s.region[i] && scale.x(s.begin[i + 1]!) * ratio - x1 < 1;
      const gap = x1 - x0 > 3 * ratio && b < to && !goesOn ? Math.round(ratio) : 0;
      const colour = p.base(s.region[i]!, line.row.location);
      const filled = calls > 1 ? blend(colour, p.inks.paperPixel, 70 + Math.round(Math.min(s.busy[i]!, 1) * 185)) : colour;
      raster.pixels.fill(filled, at + a, at + b - gap);
      const label = { x0: a / ratio + p.left, x1: b / ratio + p.left, y: line.y + LANE / 2, region: s.region[i]!, calls };
      if (calls > 1) {
        if (s.begin[i] === since) label.calls = 0; // they are counted
        since = s.begin[i]!;
        extend(many, label);
      } else if (b - a >= LABELLED * ratio) {
        const key = `${s.begin[i]!}|${s.region[i]!}`;
        const known = single.get(key);
        if (known) [known.x0, known.x1] = [Math.min(known.x0, label.x0), Math.max(known.x1, label.x1)];
        else single.set(key, label);
      }
    }
  }
  return [...single.values(), ...merged(many)];
}

function paintTask(p: Picture, row: Row, y: number): void {
  const task = p.tasks[row.task];
  if (!task) return;
  const { pen, scale } = p;
  const x = (time: number): number => p.left + scale.x(time);
  pen.fillStyle = p.inks.line;
  pen.fillRect(x(task.created), y + p.layout.row / 2 - 1, x(task.begin) - x(task.created), 2);
  const wide = Math.max(x(task.end) - x(task.begin), 1);
  pen.fillStyle = p.inks.raised;
  pen.strokeStyle = p.inks.soft;
  pen.lineWidth = 1;
  pen.fillRect(x(task.begin), y + 3, wide, p.layout.row - 6);
  paintSteps(p, task, y);
  pen.strokeRect(x(task.begin) + 0.5, y + 3.5, Math.max(wide - 1, 0.5), p.layout.row - 7);
}

/** Draws the steps of a task. Steps narrower than a pixel are combined, paler the less of the pixel they fill. */
function paintSteps(p: Picture, task: Task, y: number): void {
  const { pen, scale } = p;
  pen.fillStyle = p.inks.accent;
  for (const piece of p.steps.get(p.blockOf(task.id))?.pieces ?? []) {
    const s = piece.value;
    const [first, last] = s.of(task.id);
    for (let i = first; i < last; i++) {
      const from = Math.max(s.begin[i]!, piece.begin, scale.span.begin);
      const to = Math.min(s.end[i]!, piece.end, scale.span.end);
      if (to < from) continue;
      pen.globalAlpha = 0.35 + 0.65 * Math.min(s.busy[i]!, 1);
      pen.fillRect(p.left + scale.x(from), y + 4, Math.max(scale.x(to) - scale.x(from), 0.75), p.layout.row - 8);
    }
  }
  pen.globalAlpha = 1;
}

function paintMarkers(p: Picture): void {
  const { pen, scale } = p;
  pen.fillStyle = p.inks.warn;
  for (const marker of p.markers) {
    if (marker.time < scale.span.begin || marker.time > scale.span.end) continue;
    const row = p.rowOf(marker.location);
    if (row < 0) continue;
    const y = p.top + p.layout.tops[row]! - p.scroll;
    if (y + p.layout.row < p.top || y > p.height) continue;
    const x = p.left + scale.x(marker.time);
    pen.fillRect(x - 0.5, y, 1, p.layout.row);
    pen.beginPath();
    pen.moveTo(x - 4, y);
    pen.lineTo(x + 4, y);
    pen.lineTo(x, y + 6);
    pen.fill();
  }
}

/** Fades everything outside of the selected range except names. */
function veil(p: Picture): void {
  if (!p.range) return;
  const { pen, scale } = p;
  const x0 = p.left + scale.x(p.range.begin);
  const x1 = p.left + scale.x(p.range.end);
  pen.fillStyle = p.inks.paper;
  pen.globalAlpha = 0.6;
  pen.fillRect(p.left, p.top, Math.max(x0 - p.left, 0), p.height - p.top);
  pen.fillRect(Math.max(x1, p.left), p.top, Math.max(p.width - x1, 0), p.height - p.top);
  pen.globalAlpha = 1;
}

function paintEnds(p: Picture): void {
  if (!p.range) return;
  p.pen.fillStyle = p.inks.accent;
  for (const [time, by] of [
    [p.range.begin, 0],
    [p.range.end, -1],
  ] as const)
    p.pen.fillRect(Math.round(p.left + p.scale.x(time)) + by, p.top, 1, p.height - p.top);
}

/** Draws all rows. bundles: the messages, if they are known from the previous picture; strong: lines to emphasize. Returns the messages
 * and the labels. */
export function paintRows(p: Picture, bundles: Bundles | undefined, strong: readonly Bundle[]): { messages: Bundles; labels: Label[] } {
  const { pen, raster, inks } = p;
  const lines = linesOf(p);
  const ratio = window.devicePixelRatio || 1;
  const several = (line: Line): number => (line.lane >= 0 ? 1 : line.row.crowd ? LINES : (p.bands?.lines ?? 1));
  raster.begin(Math.round((p.width - p.left) * ratio), lines.reduce((sum, line) => sum + several(line), 0), inks.paperPixel);
  let labels: Label[] = [];
  let next = 0;
  for (const line of lines) {
    const at = next * raster.width;
    if (line.lane >= 0) labels.push(...fillLane(p, line, at));
    else if (p.bands) p.bands.fill(p, line.row, at);
    else if (line.row.crowd) fillCrowd(p, line.row.crowd, at);
    else labels.push(...fillOverview(p, line, at));
    if (line.lane >= 0 || (!p.bands && !line.row.crowd)) fadeWaiting(p, line.row.location, at);
    next += several(line);
  }
  raster.end();
  const messages = bundles ?? bundlesOf(p);
  inRows(p, () => {
    next = 0;
    for (const line of lines) {
      raster.show(pen, next, p.left, line.y + 1, p.width - p.left, line.high - 1 - (line.lane < 0 ? 1 : 0), several(line));
      next += several(line);
    }
    const [first, last] = p.layout.visible(p.scroll, p.scroll + p.height - p.top);
    for (let i = first; i < last; i++) {
      const y = p.top + p.layout.tops[i]! - p.scroll;
      if (p.layout.rows[i]!.kind === "task") paintTask(p, p.layout.rows[i]!, y);
      pen.fillStyle = inks.line;
      pen.fillRect(p.left, p.top + p.layout.tops[i + 1]! - p.scroll - 0.5, p.width - p.left, 0.5);
    }
    veil(p);
    paintMessages(p, messages.lines, strong);
    paintCritical(p);
    labels = paintLabels(p, labels);
    paintMarkers(p);
    paintEnds(p);
  });
  return { messages, labels };
}
