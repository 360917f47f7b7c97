// SPDX-License-Identifier: BSD-3-Clause
/** Lines of pixels that are filled as numbers and drawn stretched to the height of a row. So the cost of a picture depends on its pixels,
 * not on the number of its boxes. */
import { type Colour, css } from "./colour";

/** A colour as a pixel of an ImageData on little-endian machines, like all machines with browsers. */
export function pixelOf([red, green, blue]: Colour): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** `share` (0 to 255) of one pixel over another. */
export function blend(over: number, under: number, share: number): number {
  const rest = 255 - share;
  const red = ((over & 255) * share + (under & 255) * rest) / 255;
  const green = (((over >>> 8) & 255) * share + ((under >>> 8) & 255) * rest) / 255;
  const blue = (((over >>> 16) & 255) * share + ((under >>> 16) & 255) * rest) / 255;
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

export class Raster {
  private canvas: HTMLCanvasElement | undefined;
  private image: ImageData | undefined;
  pixels = new Uint32Array(0);
  width = 0;
  lines = 0;

  /** Starts a picture of `lines` lines of `width` pixels in one colour. */
  begin(width: number, lines: number, colour: number): void {
    if (this.width !== width || this.lines < lines || !this.image) {
      this.width = Math.max(width, 1);
      this.lines = Math.max(lines, 1);
      this.canvas = document.createElement("canvas");
      this.canvas.width = this.width;
      this.canvas.height = this.lines;
      this.image = new ImageData(this.width, this.lines);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    this.pixels.fill(colour);
  }

  /** Copies the lines to the canvas after all were filled. */
  end(): void {
    if (this.image) this.canvas?.getContext("2d")?.putImageData(this.image, 0, 0);
  }

  /** Draws `lines` lines, from `line` on, stretched to the given rectangle. */
  show(pen: CanvasRenderingContext2D, line: number, x: number, y: number, width: number, height: number, lines = 1): void {
    if (!this.canvas) return;
    pen.imageSmoothingEnabled = false;
    pen.drawImage(this.canvas, 0, line, this.width, lines, x, y, width, height);
  }
}

/** The colours of regions as pixels, computed on first use. */
export class Palette {
  private readonly known: Uint32Array;
  private readonly done: Uint8Array;
  constructor(
    regions: number,
    private readonly colour: (region: number) => Colour,
  ) {
    this.known = new Uint32Array(regions);
    this.done = new Uint8Array(regions);
  }
  pixel(region: number): number {
    if (!this.done[region]) {
      this.known[region] = pixelOf(this.colour(region));
      this.done[region] = 1;
    }
    return this.known[region] ?? 0xff808080;
  }
  css(region: number): string {
    return css(this.colour(region));
  }
}
