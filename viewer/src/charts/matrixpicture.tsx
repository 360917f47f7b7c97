// SPDX-License-Identifier: BSD-3-Clause
// The picture of the communication matrix: a cell for each sender and receiver, and the sums at the edges.
import { useMemo, useReducer, useRef } from "preact/hooks";
import { type Measure, both, change } from "../data/change";
import { type Colour, ofChange, ofHeat } from "../draw/colour";
import { useDark, useSelection } from "../state/hooks";
import { type Inks, inksOf, measure, setFont, write } from "../draw/ink";
import type { Matrix, Quantity } from "../data/matrix";
import { Canvas, type Point } from "../parts/Canvas";
import { Pairs, Tooltip } from "../parts/Tooltip";
import { pixelOf, Raster } from "../draw/raster";
import type { Facts } from "../data/facts";
import { bytes, count, signed, time } from "../data/units";

const LEFT = 110; // px; width of the senders' names
const TOP = 44; // px; height of the receivers' names
const SUMS = 92; // px; width of the sums at the right
const FOOT = 26; // px; height of the sums at the bottom
const MAX_CELL = 104; // px; largest cell

export interface Chosen {
  row: number;
  column: number;
}

export function shown(quantity: Quantity, value: number): string {
  return quantity === "bytes" ? bytes(value) : quantity === "time" ? time(value) : count(value);
}

interface Props {
  matrix: Matrix;
  facts: Facts;
  quantity: Quantity;
  paint: "module" | Measure;
  chosen: Chosen | undefined;
  onChoose: (chosen: Chosen) => void;
}

interface Sight {
  inks: Inks;
  dark: boolean;
  raster: Raster;
  cell: number; // px; size of a cell
}

/** The size of a cell: as large as possible with the whole matrix visible. */
function cellOf(matrix: Matrix, width: number, height: number): number {
  const room = Math.min(width - LEFT - SUMS - 8, height - TOP - FOOT - 8);
  return Math.max(Math.min(room / Math.max(matrix.size, 1), MAX_CELL), 0.5);
}

/** The strength of a colour. The smallest value is clearly different from zero. */
function heat(share: number): number {
  return share > 0 ? 0.08 + 0.92 * Math.sqrt(share) : 0;
}

/** Returns the colour of a cell; undefined: no messages in any of the runs. */
function colouring({ matrix, quantity, paint }: Props, dark: boolean): (row: number, column: number) => Colour | undefined {
  const most = matrix.largest(quantity);
  const changed = matrix.largestChange(quantity);
  return (row, column) => {
    const value = matrix.value(quantity, row, column);
    const was = matrix.was(quantity, row, column);
    if (paint === "module" || was === undefined) return value > 0 ? ofHeat(heat(value / most), dark) : undefined;
    return value > 0 || was > 0 ? ofChange(change(value, was, paint, changed), dark) : undefined;
  };
}

/** The number in a cell: the quantity, or its change. */
function numberIn({ matrix, quantity, paint }: Props, row: number, column: number): string {
  const value = matrix.value(quantity, row, column);
  const was = matrix.was(quantity, row, column);
  if (paint === "module" || was === undefined) return value > 0 ? shown(quantity, value) : "";
  return value > 0 || was > 0 ? signed(shown(quantity, value - was), value - was) : "";
}

function paintCells(pen: CanvasRenderingContext2D, props: Props, s: Sight): void {
  const { matrix } = props;
  const { size } = matrix;
  const colour = colouring(props, s.dark);
  s.raster.begin(size, size, pixelOf(ofHeat(0, s.dark)));
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const found = colour(row, column);
      if (found) s.raster.pixels[row * s.raster.width + column] = pixelOf(found);
    }
  s.raster.end();
  for (let row = 0; row < size; row++) s.raster.show(pen, row, LEFT, TOP + row * s.cell, size * s.cell, s.cell);
  if (s.cell < 6) return;
  pen.fillStyle = s.inks.line;
  for (let i = 0; i <= size; i++) {
    pen.fillRect(LEFT, TOP + i * s.cell, size * s.cell, 1);
    pen.fillRect(LEFT + i * s.cell, TOP, 1, size * s.cell);
  }
  pen.fillStyle = s.inks.ink;
  if (s.cell < 44) return;
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const text = numberIn(props, row, column);
      pen.fillText(text, LEFT + column * s.cell + (s.cell - measure(pen, text)) / 2, TOP + (row + 0.5) * s.cell + 1);
    }
}

/** Draws names and sums, as far as they fit. */
function paintEdges(pen: CanvasRenderingContext2D, { matrix, facts, quantity }: Props, s: Sight): void {
  const { size } = matrix;
  const each = Math.max(Math.ceil(17 / s.cell), 1);
  const right = LEFT + size * s.cell + 8;
  const bottom = TOP + size * s.cell + 14;
  for (let i = 0; i < size; i += each) {
    const y = TOP + (i + 0.5) * s.cell + 1;
    pen.fillStyle = s.inks.ink;
    write(pen, matrix.label(facts, i), 12, y, LEFT - 18);
    pen.fillStyle = s.inks.soft;
    if (each === 1) pen.fillText(shown(quantity, matrix.sent(quantity, i)), right, y);
  }
  const wide = s.cell >= 44 ? 1 : Math.max(Math.ceil(34 / s.cell), 1);
  for (let i = 0; i < size; i += wide) {
    const x = LEFT + i * s.cell + 2;
    pen.fillStyle = s.inks.ink;
    const name = matrix.label(facts, i);
    write(pen, wide > 1 || s.cell < 50 ? name.replace(/^rank (\d+).*$/, "$1") : name, x, TOP - 10, wide * s.cell);
    pen.fillStyle = s.inks.soft;
    if (s.cell >= 44) write(pen, shown(quantity, matrix.received(quantity, i)), x, bottom, s.cell - 2);
  }
  pen.fillStyle = s.inks.soft;
  write(pen, "from ↓   to →", 12, TOP - 10, LEFT - 14);
  if (each === 1) pen.fillText("sent", right, TOP - 10);
  if (s.cell >= 44) pen.fillText("received", 12, bottom);
  if (s.cell >= 44) pen.fillText(shown(quantity, matrix.total(quantity)), right, bottom);
}

function paint(pen: CanvasRenderingContext2D, props: Props, s: Sight, focus: Chosen | undefined, width: number, height: number): void {
  pen.fillStyle = s.inks.paper;
  pen.fillRect(0, 0, width, height);
  setFont(pen);
  paintCells(pen, props, s);
  paintEdges(pen, props, s);
  for (const [at, colour] of [
    [props.chosen, s.inks.accent],
    [focus, s.inks.ink],
  ] as const) {
    if (!at) continue;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(LEFT + at.column * s.cell, TOP + at.row * s.cell, Math.max(s.cell, 3), Math.max(s.cell, 3));
  }
}

function pairsOf({ matrix, facts, quantity }: Props, { row, column }: Chosen): [string, string][] {
  const was = matrix.was(quantity, row, column);
  return [
    ["from", matrix.label(facts, row)],
    ["to", matrix.label(facts, column)],
    ["messages", count(matrix.value("messages", row, column))],
    ["bytes", bytes(matrix.value("bytes", row, column))],
    ["time", time(matrix.value("time", row, column))],
    ...(was === undefined
      ? []
      : [[`${quantity} against the other run`, both((value) => shown(quantity, value), { now: matrix.value(quantity, row, column), before: was })] as [string, string]]),
  ];
}

export function MatrixPicture(props: Props) {
  const { matrix } = props;
  const dark = useDark();
  const { theme } = useSelection();
  const inks = useMemo(() => inksOf(dark), [dark, theme]);
  const state = useRef({ focus: undefined as Chosen | undefined, hover: undefined as (Chosen & { at: Point }) | undefined, cell: 1, raster: new Raster() });
  const [version, redraw] = useReducer((n: number) => n + 1, 0) as [number, () => void];
  const now = state.current;
  const draw = useMemo(
    () => (pen: CanvasRenderingContext2D, width: number, height: number) => {
      now.cell = cellOf(matrix, width, height);
      paint(pen, props, { inks, dark, raster: now.raster, cell: now.cell }, now.hover ?? now.focus, width, height);
    },
    [version, matrix, props.quantity, props.paint, props.chosen, inks],
  );
  const hit = (point: Point): Chosen | undefined => {
    const [row, column] = [Math.floor((point.y - TOP) / now.cell), Math.floor((point.x - LEFT) / now.cell)];
    return row >= 0 && column >= 0 && row < matrix.size && column < matrix.size ? { row, column } : undefined;
  };
  const key = (event: KeyboardEvent): boolean => {
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (event.key === "Enter" && now.focus) props.onChoose(now.focus);
    else if (!by) return false;
    else {
      const clip = (n: number): number => Math.min(Math.max(n, 0), matrix.size - 1);
      now.focus = now.focus ? { row: clip(now.focus.row + by[0]!), column: clip(now.focus.column + by[1]!) } : { row: 0, column: 0 };
      now.hover = undefined;
    }
    redraw();
    return true;
  };
  return (
    <>
      <Canvas
        label={`Matrix of messages between ${matrix.processes.length} processes, senders in rows and receivers in columns; arrows go from cell to cell, Enter selects the sender`}
        spoken={now.focus ? pairsOf(props, now.focus).map((pair) => pair.join(" ")).join(", ") : ""}
        draw={draw}
        cursor={now.hover ? "pointer" : "default"}
        onPoint={(at) => {
          const found = hit(at);
          now.hover = found && { ...found, at };
          redraw();
        }}
        onLeave={() => {
          now.hover = undefined;
          redraw();
        }}
        onClick={(at) => {
          const found = hit(at);
          if (!found) return;
          now.focus = found;
          props.onChoose(found);
        }}
        onKey={key}
      />
      {now.hover && (
        <Tooltip x={now.hover.at.clientX} y={now.hover.at.clientY}>
          <Pairs of={pairsOf(props, now.hover)} />
        </Tooltip>
      )}
    </>
  );
}
