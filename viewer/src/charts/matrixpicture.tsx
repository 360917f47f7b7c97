// SPDX-License-Identifier: BSD-3-Clause
// The picture of the communication matrix: a cell for each sender and receiver, and the sums at the edges.
import { useMemo, useReducer, useRef } from "preact/hooks";
import { type Measure, both, change } from "../data/change";
import { type Colour, css, ofChange, ofHeat } from "../draw/colour";
import { type Place, placeMatrix } from "../draw/matrixplace";
import { useDark, useSelection } from "../state/hooks";
import { type Inks, inksOf, measure, setFont } from "../draw/ink";
import type { Matrix, Quantity } from "../data/matrix";
import { Canvas, type Point } from "../parts/Canvas";
import { Pairs, Tooltip } from "../parts/Tooltip";
import { pixelOf, Raster } from "../draw/raster";
import type { Facts } from "../data/facts";
import { type Unit, byteUnit, bytes, count, countUnit, inUnit, shorten, signed, time, timeUnit } from "../data/units";

const BELOW = 22; // px; longest bar of a sum below the cells
const THICK = 24; // px; thickest bar

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
  /** The cell with the keyboard focus. */
  focus: Chosen | undefined;
  onFocus: (cell: Chosen) => void;
}

interface Sight {
  inks: Inks;
  dark: boolean;
  raster: Raster;
  place: Place;
}

/** The strength of a colour. The smallest value is clearly different from zero. */
export function heat(share: number): number {
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
  const { left, top, cell } = s.place;
  const colour = colouring(props, s.dark);
  s.raster.begin(size, size, pixelOf(ofHeat(0, s.dark)));
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const found = colour(row, column);
      if (found) s.raster.pixels[row * s.raster.width + column] = pixelOf(found);
    }
  s.raster.end();
  for (let row = 0; row < size; row++) s.raster.show(pen, row, left, top + row * cell, size * cell, cell);
  pen.fillStyle = s.inks.line;
  for (let i = 0; i <= size; i += cell < 6 ? size : 1) {
    pen.fillRect(left, top + i * cell, size * cell, 1);
    pen.fillRect(left + i * cell, top, 1, size * cell);
  }
  pen.fillStyle = s.inks.ink;
  if (!s.place.numbered) return;
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      const text = numberIn(props, row, column);
      pen.fillText(text, left + column * cell + (cell - measure(pen, text)) / 2, top + (row + 0.5) * cell + 1);
    }
}

/** The sums of rows and columns, and the unit of both. */
function sumsOf({ matrix, quantity }: Props): { sent: number[]; received: number[]; largest: number; unit: Unit; text: (value: number) => string } {
  const each = (of: (i: number) => number): number[] => Array.from({ length: matrix.size }, (_, i) => of(i));
  const sent = each((i) => matrix.sent(quantity, i));
  const received = each((i) => matrix.received(quantity, i));
  const largest = [...sent, ...received].reduce((a, b) => Math.max(a, b), 0);
  const unit = quantity === "bytes" ? byteUnit(largest) : quantity === "time" ? timeUnit(largest) : countUnit(largest < 1e6 ? 0 : largest);
  const decimals = unit.size === 1 && quantity !== "time" ? 0 : 2;
  return { sent, received, largest, unit, text: (value) => inUnit(value, unit, decimals) };
}

/** Draws names and sums, as far as they fit. The sums of rows and columns have one unit, and bars of one scale. */
function paintEdges(pen: CanvasRenderingContext2D, props: Props, s: Sight, width: number): void {
  const { matrix, facts } = props;
  const { size } = matrix;
  const { left, top, cell, rows, columns, numbers, bars, longest, foot, numbered } = s.place;
  const { sent, received, largest, unit, text } = sumsOf(props);
  const bar = css(ofHeat(0.5, s.dark));
  const titled = unit.name ? ` (${unit.name})` : "";
  const head = top - 11;
  const thick = Math.min(cell >= 6 ? cell - 2 : Math.max(cell, 1), THICK);
  const atRight = (words: string, right: number, y: number): void => pen.fillText(words, right - measure(pen, words), y);
  const short = measure(pen, matrix.label(facts, size - 1)) > left - 12;
  for (let i = 0; i < size; i++) {
    const y = top + (i + 0.5) * cell + 1;
    pen.fillStyle = s.inks.ink;
    if (i % rows === 0) {
      const name = rows > 1 || short ? matrix.number(facts, i) : matrix.label(facts, i);
      atRight(shorten(name, left - 8, (part) => measure(pen, part)), left - 6, y);
    }
    pen.fillStyle = s.inks.soft;
    if (bars > numbers && rows === 1) atRight(text(sent[i]!), bars - 6, y);
    pen.fillStyle = bar;
    const x = left + (i + 0.5) * cell;
    if (longest > 0) pen.fillRect(bars, y - 1 - thick / 2, (sent[i]! / largest) * longest || 0, thick);
    pen.fillRect(x - thick / 2, foot, thick, (received[i]! / largest) * BELOW || 0);
    const centred = (words: string, at: number): void => pen.fillText(words, x - measure(pen, words) / 2, at);
    pen.fillStyle = s.inks.ink;
    const name = matrix.label(facts, i);
    if (numbered) centred(measure(pen, name) < cell - 4 ? name : matrix.number(facts, i), head);
    else if (i % columns === 0) centred(matrix.number(facts, i), head);
    pen.fillStyle = s.inks.soft;
    if (numbered) centred(shorten(text(received[i]!), cell - 2, (part) => measure(pen, part)), foot + BELOW + 10);
  }
  pen.fillStyle = s.inks.soft;
  const before = (words: string, y: number): void => {
    if (measure(pen, words) <= left - 8) atRight(words, left - 6, y);
  };
  before("from ↓", head);
  pen.fillText("to →", left + 2, head - 16);
  const below = `received${titled}`;
  if (numbers + measure(pen, below) < width) pen.fillText(below, numbers, foot + 8);
  const total = `sent${titled}`;
  if (bars > numbers) return pen.fillText(total, Math.max(numbers, bars - 6 - measure(pen, total)), head);
  if (longest === 0) return;
  pen.fillText("sent, at most", bars, head - 16);
  pen.fillText(`${text(largest)} ${unit.name}`, bars, head);
}

function paint(pen: CanvasRenderingContext2D, props: Props, s: Sight, focus: Chosen | undefined, width: number, height: number): void {
  const { left, top, cell } = s.place;
  pen.fillStyle = s.inks.paper;
  pen.fillRect(0, 0, width, height);
  setFont(pen);
  paintCells(pen, props, s);
  paintEdges(pen, props, s, width);
  for (const [at, colour] of [
    [props.chosen, s.inks.accent],
    [focus, s.inks.ink],
  ] as const) {
    if (!at) continue;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.strokeRect(left + at.column * cell, top + at.row * cell, Math.max(cell, 3), Math.max(cell, 3));
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
  const state = useRef({ focus: props.focus, hover: undefined as (Chosen & { at: Point }) | undefined, place: placeMatrix(1, 1, 0, 1, 1), raster: new Raster() });
  const [version, redraw] = useReducer((n: number) => n + 1, 0) as [number, () => void];
  const now = state.current;
  now.focus = props.focus;
  const draw = useMemo(
    () => (pen: CanvasRenderingContext2D, width: number, height: number) => {
      setFont(pen);
      const label = Math.max(...[0, matrix.size - 1].map((row) => measure(pen, matrix.label(props.facts, row))));
      now.place = placeMatrix(matrix.size, matrix.processes.length, matrix.group > 1 ? 0 : label, width, height);
      paint(pen, props, { inks, dark, raster: now.raster, place: now.place }, now.hover ?? now.focus, width, height);
    },
    [version, matrix, props.quantity, props.paint, props.chosen, props.focus, inks],
  );
  const hit = (point: Point): Chosen | undefined => {
    const [row, column] = [Math.floor((point.y - now.place.top) / now.place.cell), Math.floor((point.x - now.place.left) / now.place.cell)];
    return row >= 0 && column >= 0 && row < matrix.size && column < matrix.size ? { row, column } : undefined;
  };
  const key = (event: KeyboardEvent): boolean => {
    const by = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (event.key === "Enter" && now.focus) props.onChoose(now.focus);
    else if (!by) return false;
    else {
      const clip = (n: number): number => Math.min(Math.max(n, 0), matrix.size - 1);
      now.focus = now.focus ? { row: clip(now.focus.row + by[0]!), column: clip(now.focus.column + by[1]!) } : { row: 0, column: 0 }; // the next key may come before the next rendering
      props.onFocus(now.focus);
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
          props.onFocus(found);
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
