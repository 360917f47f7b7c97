// SPDX-License-Identifier: BSD-3-Clause
// Draws the surroundings of the rows: overview of the whole run, ruler, names of rows.
import type { Row } from "../data/rows";
import type { Picture } from "./picture";
import { NONE } from "../data/columns";
import { blend, Raster } from "../draw/raster";
import { measure, setFont, write } from "../draw/ink";
import { TILE } from "./cache";
import { length, type Span } from "../data/timescale";

export const MINI = 26; // px; height of the overview
export const RULER = 22;
export const INDENT = 14;
const NAME_AT = 20; // px; x of names

const small = new Raster();
let painted: { tile: unknown; palette: unknown } | undefined; // contents of the raster

function fillSmall(p: Picture, tile: NonNullable<Picture["small"]>): void {
  if (painted?.tile === tile && painted.palette === p.palette) return;
  painted = { tile, palette: p.palette };
  small.begin(TILE, tile.rows, p.inks.paperPixel);
  for (let i = 0; i < tile.rows * TILE; i++) {
    const region = tile.region[i]!;
    if (region === NONE) continue;
    const location = tile.rows === p.facts.locations.length ? Math.floor(i / TILE) : -1;
    // whether a thread waited is not known here: the colour is that of its function
    small.pixels[i] = blend(p.waits ? p.palette.pixel(region) : p.base(region, location), p.inks.paperPixel, 70 + ((tile.share[i]! * 185) >> 8));
  }
  small.end();
}

/** Draws the overview; above it the visible part of the run, and the selected range. */
export function paintMini(p: Picture): void {
  const { pen, inks } = p;
  const wide = p.width - p.left;
  pen.fillStyle = inks.raised;
  pen.fillRect(0, 0, p.width, MINI);
  const tile = p.small;
  if (tile) {
    fillSmall(p, tile);
    const high = (MINI - 4) / tile.rows;
    for (let i = 0; i < tile.rows; i++) small.show(pen, i, p.left, 2 + i * high, wide, high);
  }
  const x = (time: number): number => p.left + ((time - p.whole.begin) / length(p.whole)) * wide;
  const { span } = p.scale;
  pen.fillStyle = inks.paper;
  pen.globalAlpha = 0.65;
  pen.fillRect(p.left, 0, x(span.begin) - p.left, MINI);
  pen.fillRect(x(span.end), 0, p.width - x(span.end), MINI);
  pen.globalAlpha = 1;
  pen.strokeStyle = inks.soft;
  pen.lineWidth = 1;
  pen.strokeRect(Math.round(x(span.begin)) + 0.5, 0.5, Math.max(Math.round(x(span.end) - x(span.begin)) - 1, 2), MINI - 1);
  if (p.range) {
    pen.fillStyle = inks.accent;
    pen.fillRect(x(p.range.begin), MINI - 3, Math.max(x(p.range.end) - x(p.range.begin), 2), 3);
  }
  pen.fillStyle = inks.soft;
  setFont(pen);
  write(pen, "whole run", 8, MINI / 2 + 1, p.left - 12);
}

export function paintRuler(p: Picture, y: number, pointer: number | undefined): void {
  const { pen, inks, scale } = p;
  const found = p.marks;
  pen.fillStyle = inks.paper;
  pen.fillRect(0, y, p.width, RULER);
  if (p.range) {
    const x0 = Math.max(p.left + scale.x(p.range.begin), p.left);
    pen.fillStyle = inks.accent;
    pen.globalAlpha = 0.22;
    pen.fillRect(x0, y, Math.max(Math.min(p.left + scale.x(p.range.end), p.width) - x0, 0), RULER);
    pen.globalAlpha = 1;
  }
  setFont(pen);
  pen.fillStyle = inks.line;
  for (const time of found.minor) pen.fillRect(p.left + scale.x(time), y + RULER - 4, 1, 4);
  for (const tick of found.ticks) {
    const x = p.left + scale.x(tick.time);
    pen.fillStyle = inks.soft;
    pen.fillRect(x, y + RULER - 8, 1, 8);
    const wide = measure(pen, tick.label);
    if (x + 3 + wide < p.width) pen.fillText(tick.label, x + 4, y + RULER / 2 - 2);
  }
  pen.fillStyle = inks.ink;
  if (found.anchorLabel) write(pen, `${found.anchorLabel} +`, 8, y + RULER / 2, p.left - 12);
  pen.fillStyle = inks.line;
  pen.fillRect(0, y + RULER - 1, p.width, 1);
  if (pointer !== undefined && pointer >= p.left) {
    pen.fillStyle = inks.accent;
    pen.fillRect(pointer, y, 1, RULER);
  }
}

/** Draws vertical lines at the ruler's marks through all rows. */
export function paintGrid(p: Picture): void {
  p.pen.fillStyle = p.inks.line;
  p.pen.globalAlpha = 0.35;
  for (const tick of p.marks.ticks) p.pen.fillRect(p.left + p.scale.x(tick.time), p.top, 1, p.height - p.top);
  p.pen.globalAlpha = 1;
}

export interface Gutter {
  opened: (row: number) => boolean;
  below: (row: number) => string; // a second line of text
  focus: number; // row with the focus
  selected: (row: number) => boolean;
  openable: (row: number) => boolean;
  threads: (process: number) => boolean; // whether the threads of a process are shown
  tasks: (process: number) => boolean;
  deeper: (row: number) => number; // levels of an open row that are not shown
}

export interface More {
  what: "threads" | "tasks";
  text: string;
  x: number;
  width: number;
}

const SHORT = { threads: "thr", tasks: "tsk" };

/** The x of a row's name, after the triangle. */
export const nameAt = ({ level }: Row): number => NAME_AT + INDENT * level;

/** The labels such as "+3 threads" in the first row of a process, which show and hide threads and tasks; "+3 thr" if there is less space. */
export function moreOf(p: Picture, row: number, g: Pick<Gutter, "threads" | "tasks">): More[] {
  const { main, threads, tasks, process, label } = p.layout.rows[row]!;
  if (!main) return [];
  setFont(p.pen);
  const offered = (
    [
      ["tasks", tasks, g.tasks(process)],
      ["threads", p.facts.processes.length > 1 ? threads : 0, g.threads(process)],
    ] as const
  ).filter(([, n]) => n > 0);
  const place = (short: boolean): More[] => {
    let right = p.left - 8;
    return offered.map(([what, n, open]) => {
      const text = `${open ? "−" : "+"}${n} ${short ? SHORT[what] : n > 1 ? what : what.slice(0, -1)}`;
      const width = measure(p.pen, text);
      right -= width + 8;
      return { what, text, x: right + 8, width };
    });
  };
  const long = place(false);
  const space = Math.min(...long.map((one) => one.x - 8)) - nameAt(p.layout.rows[row]!);
  return measure(p.pen, label) <= space ? long : place(true);
}

function triangle(pen: CanvasRenderingContext2D, x: number, y: number, open: boolean): void {
  pen.beginPath();
  if (open) {
    pen.moveTo(x - 4, y - 2);
    pen.lineTo(x + 4, y - 2);
    pen.lineTo(x, y + 3);
  } else {
    pen.moveTo(x - 2, y - 4);
    pen.lineTo(x + 3, y);
    pen.lineTo(x - 2, y + 4);
  }
  pen.fill();
}

export function paintGutter(p: Picture, g: Gutter): void {
  const { pen, inks, layout } = p;
  pen.save();
  pen.beginPath();
  pen.rect(0, p.top, p.left, p.height - p.top);
  pen.clip();
  pen.fillStyle = inks.paper;
  pen.fillRect(0, p.top, p.left, p.height - p.top);
  setFont(pen);
  const [first, last] = layout.visible(p.scroll, p.scroll + p.height - p.top);
  for (let i = first; i < last; i++) {
    const row = layout.rows[i]!;
    const y = p.top + layout.tops[i]! - p.scroll;
    const high = layout.tops[i + 1]! - layout.tops[i]!;
    if (g.selected(i) || g.focus === i) {
      pen.fillStyle = inks.accent;
      pen.globalAlpha = g.selected(i) ? 0.22 : 0.1;
      pen.fillRect(0, y, p.left, high);
      pen.globalAlpha = 1;
    }
    if (g.focus === i) {
      pen.fillStyle = inks.accent;
      pen.fillRect(0, y, 2, high);
    }
    pen.fillStyle = inks.soft;
    if (g.openable(i)) triangle(pen, nameAt(row) - 9, y + layout.row / 2, g.opened(i));
    const x = nameAt(row);
    const more = moreOf(p, i, g);
    for (const one of more) pen.fillText(one.text, one.x, y + layout.row / 2 + 1);
    const space = Math.min(...more.map((one) => one.x - 8), p.left - 6) - x;
    pen.fillStyle = row.kind === "task" ? inks.soft : inks.ink;
    write(pen, row.label, x, y + layout.row / 2 + 1, space);
    pen.fillStyle = inks.soft;
    const below = g.below(i);
    if (below) write(pen, below, x, y + layout.row / 2 + 18, space);
    const deeper = g.deeper(i);
    pen.fillStyle = inks.soft;
    if (deeper > 0) write(pen, `${deeper} deeper: see the flame`, 20, y + high - 12, p.left - 26);
    pen.fillStyle = inks.line;
    pen.fillRect(0, y + high - 0.5, p.left, 0.5);
  }
  pen.fillStyle = inks.line;
  pen.fillRect(p.left - 1, p.top, 1, p.height - p.top);
  pen.restore();
}

/** Draws a frame around the element with focus or pointer. */
export function paintFrame(p: Picture, box: { x: number; y: number; width: number; height: number }, strong: boolean): void {
  const { pen, inks } = p;
  pen.save();
  pen.beginPath();
  pen.rect(p.left, p.top, p.width - p.left, p.height - p.top);
  pen.clip();
  pen.strokeStyle = strong ? inks.accent : inks.ink;
  pen.lineWidth = strong ? 2 : 1;
  pen.strokeRect(box.x, box.y, Math.max(box.width, 2), box.height);
  pen.restore();
}

/** The time at an x of the overview. */
export function miniTime(x: number, left: number, width: number, whole: Span): number {
  return whole.begin + (Math.min(Math.max(x - left, 0), width) / Math.max(width, 1)) * length(whole);
}
