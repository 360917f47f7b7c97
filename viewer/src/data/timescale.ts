// SPDX-License-Identifier: BSD-3-Clause
/** A range of time in pixels: zooming, panning and the marks of a ruler. Times are seconds since the begin of the experiment. */

export interface Span {
  begin: number;
  end: number;
}

export const SHORTEST = 20e-9; // s; shortest visible range, as clocks have no finer resolution

export function length(span: Span): number {
  return span.end - span.begin;
}

/** Moves and shortens the span to fit into the limits, but not below SHORTEST. */
export function clamp(span: Span, limits: Span): Span {
  const most = Math.max(length(limits), SHORTEST);
  const long = Math.min(Math.max(length(span), Math.min(SHORTEST, most)), most);
  const middle = (span.begin + span.end) / 2;
  let begin = length(span) === long ? span.begin : middle - long / 2;
  begin = Math.min(Math.max(begin, limits.begin), limits.begin + most - long);
  return { begin, end: begin + long };
}

/** factor below 1: shows less time. The time `at` keeps its position unless the limits are reached. */
export function zoom(span: Span, at: number, factor: number, limits: Span): Span {
  const most = Math.max(length(limits), SHORTEST);
  const long = Math.min(Math.max(length(span) * factor, Math.min(SHORTEST, most)), most);
  const share = length(span) > 0 ? (at - span.begin) / length(span) : 0.5;
  const begin = at - share * long;
  return clamp({ begin, end: begin + long }, limits);
}

export function pan(span: Span, by: number, limits: Span): Span {
  return clamp({ begin: span.begin + by, end: span.end + by }, limits);
}

/** The span between two times, within the limits; undefined: nothing is left. */
export function range(a: number, b: number, limits: Span): Span | undefined {
  const begin = Math.max(Math.min(a, b), limits.begin);
  const end = Math.min(Math.max(a, b), limits.end);
  return end > begin ? { begin, end } : undefined;
}

export class Scale {
  constructor(
    readonly span: Span,
    readonly width: number,
  ) {}
  x(time: number): number {
    const long = length(this.span);
    return long > 0 ? ((time - this.span.begin) / long) * this.width : 0;
  }
  time(x: number): number {
    return this.span.begin + (x / Math.max(this.width, 1)) * length(this.span);
  }
  /** seconds per pixel */
  get pixel(): number {
    return length(this.span) / Math.max(this.width, 1);
  }
}

export interface Tick {
  time: number;
  label: string;
}
export interface Ruler {
  ticks: Tick[];
  minor: number[]; // times of the minor marks
  step: number;
  anchor: number; // time to which the labels are relative
  anchorLabel: string; // empty: the labels are relative to 0
}

const UNITS: readonly [string, number][] = [
  ["h", 3600],
  ["min", 60],
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
  ["ns", 1e-9],
];
const LONG_STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const DIGITS = 4; // digits of a label; longer ones become relative to an anchor

/** The smallest round step of at least `least`, and the number of parts between its minor marks. */
export function niceStep(least: number): [number, number] {
  if (least > 30) {
    const found = LONG_STEPS.find((s) => s >= least);
    if (found) return [found, found % 180 === 0 ? 3 : 2];
    return [Math.ceil(least / 86400) * 86400, 4];
  }
  const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
  for (const [times, parts] of [
    [1, 5],
    [2, 4],
    [5, 5],
  ] as const)
    if (times * power >= least * (1 - 1e-9)) return [times * power, parts];
  return [10 * power, 5];
}

/** Groups digits in thousands with a thin space, before and after the decimal point. */
function grouped(digits: string): string {
  const [whole = "", part = ""] = digits.split(".");
  const left = whole.replace(/\B(?=(\d{3})+$)/g, "\u2009");
  return part ? `${left}.${part.replace(/(\d{3})(?=\d)/g, "$1\u2009")}` : left;
}

function decimals(step: number, unit: number): number {
  return Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
}

function unitOf(most: number, step: number): readonly [string, number] {
  const last = UNITS[UNITS.length - 1]!;
  if (step >= 60) return UNITS.find(([, size]) => step % size === 0) ?? last;
  return UNITS.find(([, size]) => size <= 1 && most >= size * (1 - 1e-9)) ?? last;
}

function anchorOf(span: Span, step: number): number {
  if (span.end / step < 10 ** DIGITS) return 0;
  const decade = 10 ** Math.ceil(Math.log10(length(span)) - 1e-9);
  return Math.floor(span.begin / decade + 1e-9) * decade;
}

/** A time with the digits that a step of that size needs. */
export function moment(time: number, step: number): string {
  const [name, size] = time >= 1 ? (["s", 1] as const) : unitOf(Math.abs(time), step);
  return `${grouped((time / size).toFixed(Math.min(decimals(step, size), 12)))} ${name}`;
}

/** Marks for the span, at least `gap` pixels apart. Digits that are common to all labels are only in anchorLabel. */
export function ruler(span: Span, width: number, gap = 88): Ruler {
  const long = length(span);
  if (!(long > 0) || !(width > 0)) return { ticks: [], minor: [], step: 0, anchor: 0, anchorLabel: "" };
  const [step, parts] = niceStep((long / width) * gap);
  const anchor = anchorOf(span, step);
  const [name, size] = unitOf(span.end - anchor, step);
  const places = decimals(step, size);
  const ticks: Tick[] = [];
  const minor: number[] = [];
  const first = Math.ceil((span.begin - anchor) / step - 1e-6) - 1;
  for (let i = first; anchor + i * step <= span.end + step * 1e-6; i++) {
    for (let j = 1; j < parts; j++) {
      const time = anchor + (i + j / parts) * step;
      if (time >= span.begin && time <= span.end) minor.push(time);
    }
    if (i <= first) continue;
    const text = grouped(((i * step) / size).toFixed(places));
    const label = anchor ? (i === 0 ? "+0" : `${i < 0 ? "" : "+"}${text} ${name}`) : i === 0 ? "0" : `${text} ${name}`;
    ticks.push({ time: anchor + i * step, label });
  }
  return { ticks, minor, step, anchor, anchorLabel: anchor ? moment(anchor, 10 ** Math.ceil(Math.log10(long) - 1e-9)) : "" };
}
