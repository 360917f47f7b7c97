// SPDX-License-Identifier: BSD-3-Clause
// The two icicles of a function, of its callers and its callees: positions of boxes, box at a point, keyboard navigation, drawing.
import { NONE, subtreeEnds, type Paths } from "../calltree/paths";
import type { Sandwich } from "../calltree/sandwich";
import { label } from "../data/units";

export type Half = "up" | "down";
export interface Spot {
  readonly half: Half;
  readonly row: number;
}

export const BAND = 20; // pixels of a box's height
const MIN_WIDTH = 0.7; // pixels; narrower subtrees are drawn as a line
const LABEL = 26; // pixels; narrower boxes have no label

interface Placed {
  tree: Paths;
  end: Uint32Array;
  depth: Uint32Array;
  start: Float64Array; // s
  deepest: number;
}

function placed(tree: Paths): Placed {
  const depth = new Uint32Array(tree.count);
  const start = new Float64Array(tree.count);
  const used = new Float64Array(tree.count);
  let deepest = 0;
  for (let row = 1; row < tree.count; row++) {
    const above = tree.parent[row]!;
    depth[row] = depth[above]! + 1;
    start[row] = start[above]! + used[above]!;
    used[above]! += tree.incl[row]!;
    deepest = Math.max(deepest, depth[row]!);
  }
  return { tree, end: subtreeEnds(tree), depth, start, deepest };
}

export class Sides {
  readonly total: number;
  private readonly up: Placed;
  private readonly down: Placed;

  constructor(of: Sandwich) {
    this.total = of.incl;
    this.up = placed(of.up);
    this.down = placed(of.down);
  }

  of(half: Half): Placed {
    return half === "up" ? this.up : this.down;
  }

  tree(half: Half): Paths {
    return this.of(half).tree;
  }

  /** The y of the function: all visible callers fit above it, or it is at half of the height. */
  middle(height: number): number {
    const above = this.up.deepest * BAND;
    const below = (this.down.deepest + 1) * BAND;
    if (above + below <= height) return above;
    return Math.round(Math.min(above, Math.max(height / 2, height - below)));
  }

  /** Limits a scroll position to the contents. */
  bounded(scroll: number, height: number): number {
    const middle = this.middle(height);
    const most = Math.max(0, this.up.deepest * BAND - middle);
    const least = Math.min(0, height - (middle + (this.down.deepest + 1) * BAND));
    return Math.min(most, Math.max(least, scroll));
  }

  top({ half, row }: Spot, middle: number): number {
    const depth = this.of(half).depth[row]!;
    return half === "up" ? middle - depth * BAND : middle + depth * BAND;
  }

  /** The box at a point. */
  at(x: number, y: number, middle: number, width: number): Spot | undefined {
    const band = Math.floor((y - middle) / BAND);
    const half: Half = band < 0 ? "up" : "down";
    const { tree, end, depth, start } = this.of(half);
    const when = (x / width) * this.total;
    for (let row = 0; row < tree.count; ) {
      const inside = when >= start[row]! && when < start[row]! + tree.incl[row]!;
      if (!inside) row = end[row]!;
      else if (depth[row] === Math.abs(band)) return { half, row };
      else row++;
    }
    return undefined;
  }

  private children({ half, row }: Spot): number[] {
    const { end } = this.of(half);
    const out: number[] = [];
    for (let child = row + 1; child < end[row]!; child = end[child]!) out.push(child);
    return out;
  }

  /** The box that an arrow key selects; undefined: none. */
  step(spot: Spot, key: string): Spot | undefined {
    const { half, row } = spot;
    const outward = key === (half === "up" ? "ArrowUp" : "ArrowDown");
    const inward = key === (half === "up" ? "ArrowDown" : "ArrowUp");
    const above = this.of(half).tree.parent[row]!;
    if (row === 0 && (key === "ArrowUp" || key === "ArrowDown")) {
      const to: Half = key === "ArrowUp" ? "up" : "down";
      const [first] = this.children({ half: to, row: 0 });
      return first === undefined ? undefined : { half: to, row: first };
    }
    if (outward) {
      const [first] = this.children(spot);
      return first === undefined ? undefined : { half, row: first };
    }
    if (inward && above !== NONE) return { half: above === 0 ? "down" : half, row: above };
    const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!by || above === NONE) return undefined;
    const siblings = this.children({ half, row: above });
    const next = siblings[siblings.indexOf(row) + by];
    return next === undefined ? undefined : { half, row: next };
  }
}

export interface Style {
  width: number;
  height: number;
  middle: number;
  style: CSSStyleDeclaration;
  colour: (tree: Paths, row: number) => string;
  ink: string;
  name: (region: number, hidden: number) => string;
  spot: Spot;
}

function drawHalf(pen: CanvasRenderingContext2D, sides: Sides, half: Half, s: Style): void {
  const { tree, end, start } = sides.of(half);
  const scale = s.width / sides.total;
  const measure = (text: string): number => pen.measureText(text).width;
  for (let row = half === "up" ? 1 : 0; row < tree.count; ) {
    const wide = tree.incl[row]! * scale;
    const y = sides.top({ half, row }, s.middle);
    const out = half === "up" ? y + BAND < 0 : y > s.height;
    const x = start[row]! * scale;
    if (!out && y < s.height && y + BAND > 0) {
      pen.fillStyle = s.colour(tree, row);
      pen.fillRect(x, y, Math.max(MIN_WIDTH, wide - (wide > 3 ? 1 : 0)), BAND - 1);
      if (wide >= LABEL) {
        pen.fillStyle = s.ink;
        pen.fillText(label(s.name(tree.region[row]!, tree.hidden[row]!), wide - 9, measure), x + 4, y + BAND / 2);
      }
    }
    row = wide < MIN_WIDTH || out ? end[row]! : row + 1;
  }
}

export function drawSides(pen: CanvasRenderingContext2D, sides: Sides, s: Style): void {
  pen.fillStyle = s.style.getPropertyValue("--paper");
  pen.fillRect(0, 0, s.width, s.height);
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  drawHalf(pen, sides, "up", s);
  drawHalf(pen, sides, "down", s);
  pen.fillStyle = s.ink;
  pen.fillRect(0, s.middle - 2, s.width, 1.5);
  pen.fillRect(0, s.middle + BAND - 0.5, s.width, 1.5);
  const { tree, start } = sides.of(s.spot.half);
  pen.strokeStyle = s.style.getPropertyValue("--accent");
  pen.lineWidth = 2;
  const scale = s.width / sides.total;
  const x = start[s.spot.row]! * scale;
  pen.strokeRect(x + 1, sides.top(s.spot, s.middle) + 1, Math.max(2, tree.incl[s.spot.row]! * scale - 3), BAND - 3);
}
