// SPDX-License-Identifier: BSD-3-Clause
// Draws the row of a crowd.
import { NONE } from "../data/columns";
import type { Crowd } from "../data/rows";
import { blend } from "../draw/raster";
import { columnAt, LINES, peakOf } from "./crowd";
import type { Picture } from "./picture";

const PALE = 90; // of 255; share of the colour where a thread waits

/** Fills the lines of a crowd: from the bottom how many threads run, above them, pale, how many wait. */
export function fillCrowd(p: Picture, crowd: Crowd, at: number): void {
  const { raster, scale, palette, inks } = p;
  const asked = p.crowds.get(crowd.key);
  const peak = peakOf(asked, scale.span, p.whole) || 1;
  const ratio = raster.width / Math.max(p.width - p.left, 1);
  for (const piece of asked?.pieces ?? []) {
    const { region, running, waiting } = piece.value;
    const to = Math.min(Math.ceil(scale.x(piece.end) * ratio), raster.width);
    for (let x = Math.max(Math.floor(scale.x(piece.begin) * ratio), 0); x < to; x++) {
      const column = columnAt(piece, scale.time((x + 0.5) / ratio), p.whole).at;
      const full = region[column] === NONE ? inks.paperPixel : p.base(region[column]!, -1);
      const pale = region[column] === NONE ? inks.paperPixel : (p.waits?.(region[column]!) ?? blend(palette.pixel(region[column]!), inks.paperPixel, PALE));
      // something that ran is at least one line high
      const runs = Math.ceil((running[column]! / peak) * LINES - 0.01);
      const all = Math.max(Math.round(((running[column]! + waiting[column]!) / peak) * LINES), runs);
      for (let line = 0; line < LINES; line++) {
        const up = LINES - 1 - line;
        raster.pixels[at + line * raster.width + x] = up < runs ? full : up < all ? pale : inks.paperPixel;
      }
    }
  }
}
