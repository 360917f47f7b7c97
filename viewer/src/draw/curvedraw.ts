// SPDX-License-Identifier: BSD-3-Clause
// Draws curves over time with both axes.
import { type Curve, byteTick, byteTicks, drawn, ticks } from "../data/curves";
import { type Inks, measure, setFont, write } from "./ink";
import { length, ruler, Scale, type Span } from "../data/timescale";

export const LEFT = 92; // px; width of the numbers at the left
export const TOP = 12;
export const BOTTOM = 26;

/** Colours of lines after Okabe and Ito, for all kinds of colour vision; from the ninth line on, lines are dashed. */
const LINES = {
  light: ["#0072b2", "#d55e00", "#008a66", "#b4508c", "#8a6d00", "#5a55c8", "#333333", "#0f8a94"],
  dark: ["#6db8ee", "#ff9a57", "#3ecda0", "#ef9cc9", "#e8cf5a", "#a9a5ff", "#e0e0e0", "#5fd3dc"],
};
const DASHES: number[][] = [[], [5, 3], [1.5, 2.5], [8, 3, 2, 3]];

export const colourOf = (line: number, dark: boolean): string => LINES[dark ? "dark" : "light"][line % 8]!;

export interface Sheet {
  curves: readonly Curve[];
  rates: boolean;
  span: Span;
  low: number;
  high: number;
  show: (value: number) => string;
  /** Values are bytes: the axis has binary units. */
  bytes?: boolean;
  inks: Inks;
  /** The highlighted line; -1: all are. */
  focus: number;
  cursor: number | undefined;
  chosen: Span | undefined;
  /** Labelled lines at times and at values. */
  marks?: { at: readonly { time: number; label: string }[]; level: readonly { value: number; label: string }[] };
}

export const scaleOf = (span: Span, width: number): Scale => new Scale(span, Math.max(width - LEFT, 1));

function paintAxes(pen: CanvasRenderingContext2D, s: Sheet, width: number, height: number, y: (value: number) => number): void {
  const { inks } = s;
  const scale = scaleOf(s.span, width);
  setFont(pen);
  for (const value of (s.bytes ? byteTicks : ticks)(s.low, s.high, Math.max(2, (height - TOP - BOTTOM) / 56))) {
    pen.fillStyle = inks.line;
    pen.fillRect(LEFT, Math.round(y(value)), width - LEFT, 1);
    pen.fillStyle = inks.soft;
    const text = s.bytes ? byteTick(value, Math.max(s.high, -s.low)) : s.show(value);
    write(pen, text, Math.max(4, LEFT - 8 - measure(pen, text)), y(value), LEFT - 10);
  }
  const marks = ruler(s.span, width - LEFT);
  for (const tick of marks.ticks) {
    const x = LEFT + scale.x(tick.time);
    pen.fillStyle = inks.line;
    pen.fillRect(x, height - BOTTOM, 1, 6);
    pen.fillStyle = inks.soft;
    if (x + 4 + measure(pen, tick.label) < width) pen.fillText(tick.label, x + 4, height - BOTTOM / 2);
  }
  pen.fillStyle = inks.soft;
  if (marks.anchorLabel) write(pen, `${marks.anchorLabel} +`, 4, height - BOTTOM / 2, LEFT - 8);
}

function paintCurve(pen: CanvasRenderingContext2D, s: Sheet, curve: Curve, x: (time: number) => number, y: (value: number) => number): void {
  const { at, value, shape } = drawn(curve, s.span, s.rates);
  pen.beginPath();
  at.forEach((moment, i) => {
    if (i === 0) pen.moveTo(x(moment), y(value[i]!));
    else if (shape === "steps") pen.lineTo(x(moment), y(value[i - 1]!));
    pen.lineTo(x(moment), y(value[i]!));
  });
  const last = at.length - 1;
  if (last >= 0 && !s.rates && at[last]! < s.span.end) pen.lineTo(x(s.span.end), y(value[last]!));
  pen.stroke();
}

function paintMarks(pen: CanvasRenderingContext2D, s: Sheet, width: number, bottom: number, x: (time: number) => number, y: (value: number) => number): void {
  pen.fillStyle = s.inks.ink;
  for (const { value, label } of s.marks?.level ?? []) {
    for (let at = LEFT; at < width; at += 8) pen.fillRect(at, Math.round(y(value)), 4, 1);
    pen.fillText(label, LEFT + 6, y(value) + (y(value) < TOP + 14 ? 9 : -8));
  }
  s.marks?.at.forEach(({ time, label }, i) => {
    const at = Math.round(x(time));
    pen.fillRect(at, TOP, 1, bottom - TOP);
    const wide = measure(pen, label);
    pen.fillText(label, at + 5 + wide < width ? at + 5 : at - 5 - wide, TOP + 22 + 14 * i);
  });
}

export function paintSheet(pen: CanvasRenderingContext2D, s: Sheet, width: number, height: number): void {
  const { inks } = s;
  const scale = scaleOf(s.span, width);
  const room = Math.max(height - TOP - BOTTOM, 1);
  const x = (time: number): number => LEFT + scale.x(time);
  const y = (value: number): number => TOP + room - ((value - s.low) / (s.high - s.low || 1)) * room;
  pen.fillStyle = inks.paper;
  pen.fillRect(0, 0, width, height);
  paintAxes(pen, s, width, height, y);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT, height - BOTTOM + 1);
  pen.clip();
  if (s.chosen && length(s.chosen) > 0) {
    pen.fillStyle = inks.accent;
    pen.globalAlpha = 0.16;
    pen.fillRect(x(s.chosen.begin), TOP, x(s.chosen.end) - x(s.chosen.begin), room);
  }
  s.curves.forEach((curve, i) => {
    pen.globalAlpha = s.focus < 0 || s.focus === i ? 1 : 0.35;
    pen.lineWidth = s.focus === i ? 2 : 1.25;
    pen.strokeStyle = colourOf(i, inks.dark);
    pen.setLineDash(DASHES[(i >> 3) % DASHES.length]!);
    paintCurve(pen, s, curve, x, y);
  });
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  paintMarks(pen, s, width, height - BOTTOM, x, y);
  if (s.cursor !== undefined) {
    pen.fillStyle = inks.soft;
    pen.fillRect(x(s.cursor), TOP, 1, room);
  }
  pen.restore();
}
