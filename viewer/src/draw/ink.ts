// SPDX-License-Identifier: BSD-3-Clause
// Colours of the page, font and text drawing for canvases.
import { type Colour } from "./colour";
import { pixelOf } from "./raster";
import { shorten } from "../data/units";

export interface Inks {
  paper: string;
  raised: string;
  ink: string;
  soft: string;
  line: string;
  accent: string;
  warn: string;
  paperPixel: number;
  dark: boolean;
}

function rgb(value: string): Colour {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(value.trim());
  return hex ? [Number.parseInt(hex[1]!, 16), Number.parseInt(hex[2]!, 16), Number.parseInt(hex[3]!, 16)] : [128, 128, 128];
}

export function inksOf(dark: boolean): Inks {
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    paper: get("paper"),
    raised: get("raised"),
    ink: get("ink"),
    soft: get("soft"),
    line: get("line"),
    accent: get("accent"),
    warn: get("warn"),
    paperPixel: pixelOf(rgb(get("paper"))),
    dark,
  };
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const widths = new Map<string, number>();

/** Width of a text as the sum of its letters, whose widths are cached. */
export function measure(pen: CanvasRenderingContext2D, text: string): number {
  let sum = 0;
  for (const letter of text) {
    let width = widths.get(letter);
    if (width === undefined) widths.set(letter, (width = pen.measureText(letter).width));
    sum += width;
  }
  return sum;
}

export function write(pen: CanvasRenderingContext2D, text: string, x: number, y: number, width: number): void {
  const shown = shorten(text, width, (part) => measure(pen, part));
  if (shown.length > 5 || shown === text) pen.fillText(shown, x, y);
}

export function setFont(pen: CanvasRenderingContext2D): void {
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
}
