// SPDX-License-Identifier: BSD-3-Clause
// A second target of the drawing functions: it has the part of the canvas' interface that they use, and writes SVG.

type Used =
  | "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "globalAlpha" | "font" | "textAlign" | "textBaseline" | "imageSmoothingEnabled"
  | "save" | "restore" | "translate" | "rotate" | "scale" | "setLineDash" | "clip"
  | "beginPath" | "closePath" | "moveTo" | "lineTo" | "bezierCurveTo" | "rect"
  | "fillRect" | "strokeRect" | "fillText";

interface Style {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  imageSmoothingEnabled: boolean;
  dash: readonly number[];
  matrix: readonly [number, number, number, number, number, number];
}

const FIRST: Style = {
  fillStyle: "#000000",
  strokeStyle: "#000000",
  lineWidth: 1,
  lineJoin: "miter",
  globalAlpha: 1,
  font: "10px sans-serif",
  textAlign: "start",
  textBaseline: "alphabetic",
  imageSmoothingEnabled: true,
  dash: [],
  matrix: [1, 0, 0, 1, 0, 0],
};
const MIDDLE = 0.35; // of the size of a font, from its base line to its middle; not all programs know dominant-baseline
const TOP = 0.8;
const MAX_TURN = Math.PI; // an arc of SVG is at most half a turn

const ESCAPED: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// without characters that XML does not have
const escaped = (text: string): string => text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "�").replace(/[&<>"]/g, (one) => ESCAPED[one]!);
const n = (value: number): string => String(Math.round(value * 100) / 100 || 0);
const attributes = (of: Record<string, string | undefined>): string =>
  Object.entries(of).map(([name, value]) => (value === undefined ? "" : ` ${name}="${escaped(value)}"`)).join("");

/** The size in pixels, and the other properties, of a font as a canvas has it. */
function fontOf(font: string): { size: number; family: string; weight: string | undefined } {
  const found = /^(?:(bold|\d{3}) )?([\d.]+)px (.+)$/.exec(font);
  return { size: Number(found?.[2] ?? 10), family: found?.[3] ?? "sans-serif", weight: found?.[1] };
}

/** Pixels of an image, four bytes each. */
export type Pixels = Pick<ImageData, "data" | "width" | "height">;

export class SvgPen implements Style, Pick<CanvasRenderingContext2D, Used> {
  // the initial values are those of a canvas
  fillStyle = FIRST.fillStyle;
  strokeStyle = FIRST.strokeStyle;
  lineWidth = FIRST.lineWidth;
  lineJoin = FIRST.lineJoin;
  globalAlpha = FIRST.globalAlpha;
  font = FIRST.font;
  textAlign = FIRST.textAlign;
  textBaseline = FIRST.textBaseline;
  imageSmoothingEnabled = FIRST.imageSmoothingEnabled;
  dash = FIRST.dash;
  matrix = FIRST.matrix;
  private path = "";
  private readonly out: string[] = [];
  private readonly saved: { style: Style; groups: number }[] = [];
  private groups = 0; // open elements <g>
  private clips = 0;

  constructor(
    /** The width of a text in pixels. */
    private readonly widthOf: (text: string, font: string) => number,
    private readonly pixelsOf: (image: CanvasImageSource, x: number, y: number, width: number, height: number) => Pixels,
  ) {}

  /** The picture as a file. */
  file(width: number, height: number, title: string): string {
    const [wide, high] = [n(width), n(height)];
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}" role="img" aria-label="${escaped(title)}">`;
    return [`<?xml version="1.0" encoding="UTF-8"?>`, head, `<title>${escaped(title)}</title>`, ...this.out, ...Array.from({ length: this.groups }, () => "</g>"), "</svg>", ""].join("\n");
  }

  private style(): Style {
    const { fillStyle, strokeStyle, lineWidth, lineJoin, globalAlpha, font, textAlign, textBaseline, imageSmoothingEnabled, dash, matrix } = this;
    return { fillStyle, strokeStyle, lineWidth, lineJoin, globalAlpha, font, textAlign, textBaseline, imageSmoothingEnabled, dash, matrix };
  }
  save(): void {
    this.saved.push({ style: this.style(), groups: this.groups });
  }
  restore(): void {
    const last = this.saved.pop();
    if (!last) return;
    for (; this.groups > last.groups; this.groups--) this.out.push("</g>");
    Object.assign(this, last.style);
  }

  private turn(a: number, b: number, c: number, d: number, e: number, f: number): void {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E, B * e + D * f + F];
  }
  translate(x: number, y: number): void {
    this.turn(1, 0, 0, 1, x, y);
  }
  scale(x: number, y: number): void {
    this.turn(x, 0, 0, y, 0, 0);
  }
  rotate(by: number): void {
    this.turn(Math.cos(by), Math.sin(by), -Math.sin(by), Math.cos(by), 0, 0);
  }
  setLineDash(dash: Iterable<number>): void {
    this.dash = [...dash];
  }

  private add(element: string, of: Record<string, string | undefined>, content = ""): void {
    const isMoved = this.matrix.some((value, i) => value !== FIRST.matrix[i]);
    const transform = isMoved ? `matrix(${this.matrix.map((value) => String(Math.round(value * 1e5) / 1e5)).join(" ")})` : undefined;
    const opacity = this.globalAlpha < 1 ? n(this.globalAlpha) : undefined;
    const rest = attributes({ ...of, opacity, transform });
    this.out.push(content ? `<${element}${rest}>${content}</${element}>` : `<${element}${rest}/>`);
  }
  private get line(): Record<string, string | undefined> {
    const { strokeStyle, lineWidth, lineJoin, dash } = this;
    return {
      fill: "none",
      stroke: String(strokeStyle),
      "stroke-width": n(lineWidth),
      "stroke-linejoin": lineJoin === "miter" ? undefined : lineJoin,
      "stroke-dasharray": dash.length ? dash.map(n).join(" ") : undefined,
    };
  }
  private box(x: number, y: number, width: number, height: number): Record<string, string> {
    return { x: n(Math.min(x, x + width)), y: n(Math.min(y, y + height)), width: n(Math.abs(width)), height: n(Math.abs(height)) };
  }

  beginPath(): void {
    this.path = "";
  }
  closePath(): void {
    this.path += "Z";
  }
  moveTo(x: number, y: number): void {
    this.path += `M${n(x)} ${n(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `${this.path ? "L" : "M"}${n(x)} ${n(y)}`;
  }
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path += `C${[x1, y1, x2, y2, x, y].map(n).join(" ")}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${n(x)} ${n(y)}h${n(width)}v${n(height)}h${n(-width)}Z`;
  }
  arc(x: number, y: number, radius: number, from: number, to: number, back = false): void {
    const way = back ? -1 : 1;
    const whole = 2 * Math.PI;
    const asked = (to - from) * way;
    const angle = asked >= whole ? whole : ((asked % whole) + whole) % whole;
    const parts = Math.max(Math.ceil(angle / MAX_TURN - 1e-9), 1);
    this.lineTo(x + radius * Math.cos(from), y + radius * Math.sin(from));
    for (let part = 1; part <= parts; part++) {
      const at = from + (way * angle * part) / parts;
      this.path += `A${n(radius)} ${n(radius)} 0 0 ${back ? 0 : 1} ${n(x + radius * Math.cos(at))} ${n(y + radius * Math.sin(at))}`;
    }
  }
  fill(): void {
    if (this.path) this.add("path", { d: this.path, fill: String(this.fillStyle) });
  }
  stroke(): void {
    if (this.path) this.add("path", { d: this.path, ...this.line });
  }
  clip(): void {
    const id = `clip${++this.clips}`;
    this.out.push(`<clipPath id="${id}">`);
    const alpha = this.globalAlpha;
    this.globalAlpha = 1;
    this.add("path", { d: this.path });
    this.globalAlpha = alpha;
    this.out.push("</clipPath>", `<g clip-path="url(#${id})">`);
    this.groups++;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    if (width && height) this.add("rect", { ...this.box(x, y, width, height), fill: String(this.fillStyle) });
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add("rect", { ...this.box(x, y, width, height), ...this.line });
  }

  measureText(text: string): TextMetrics {
    return { width: this.widthOf(text, this.font) } as TextMetrics;
  }
  fillText(text: string, x: number, y: number): void {
    if (!text.trim()) return;
    const { size, family, weight } = fontOf(this.font);
    const down = { middle: MIDDLE, top: TOP, hanging: TOP }[this.textBaseline as string] ?? 0;
    const anchor = { center: "middle", right: "end", end: "end" }[this.textAlign as string];
    const of = { x: n(x), y: n(y + down * size), fill: String(this.fillStyle), "font-family": family, "font-size": n(size), "font-weight": weight, "text-anchor": anchor };
    // another font may be wider: the text keeps to its box
    const [first] = text;
    const fixed = first === text ? {} : { textLength: n(this.widthOf(text, this.font)), lengthAdjust: "spacingAndGlyphs" };
    this.add("text", { ...of, ...fixed }, escaped(text));
  }

  /** Draws a part of an image: pixels of one colour in a line are one box. */
  drawImage(image: CanvasImageSource, sx: number, sy: number, wide: number, high: number, x: number, y: number, width: number, height: number): void {
    const { data } = this.pixelsOf(image, sx, sy, wide, high);
    const boxes = new Map<string, string>();
    const [across, down] = [width / wide, height / high];
    const colourAt = (at: number): number => (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!;
    for (let row = 0; row < high; row++)
      for (let since = 0, column = 0; column < wide; column++) {
        const at = (row * wide + column) * 4;
        if (column + 1 < wide && colourAt(at) === colourAt(at + 4) && data[at + 3] === data[at + 7]) continue;
        if (data[at + 3]) {
          const colour = `#${colourAt(at).toString(16).padStart(6, "0")}`;
          const long = n((column + 1 - since) * across);
          boxes.set(colour, `${boxes.get(colour) ?? ""}M${n(x + since * across)} ${n(y + row * down)}h${long}v${n(down)}h-${long}z`);
        }
        since = column + 1;
      }
    // without seams between neighbours
    for (const [fill, d] of boxes) this.add("path", { d, fill, "shape-rendering": "crispEdges" });
  }
}

/** A picture as SVG: what the function draws, of this size in CSS pixels. */
export function svgOf(draw: (pen: CanvasRenderingContext2D, width: number, height: number) => void, width: number, height: number, title: string): string {
  const ruler = document.createElement("canvas").getContext("2d")!;
  const pen = new SvgPen(
    (text, font) => {
      ruler.font = font;
      return ruler.measureText(text).width;
    },
    (image, x, y, wide, high) => {
      const copy = document.createElement("canvas");
      [copy.width, copy.height] = [wide, high];
      const to = copy.getContext("2d")!;
      to.drawImage(image, x, y, wide, high, 0, 0, wide, high);
      return to.getImageData(0, 0, wide, high);
    },
  );
  draw(pen as unknown as CanvasRenderingContext2D, width, height);
  return pen.file(width, height, title);
}
