// SPDX-License-Identifier: BSD-3-Clause
// A bar for each rank, process or thread: all its functions, or one function.
import { useMemo, useReducer, useRef } from "preact/hooks";
import { type Spread, type Stats, TIMES, type Time } from "../data/balance";
import { both } from "../data/change";
import { type Colour, css, muted } from "../draw/colour";
import { NONE } from "../data/columns";
import type { Facts, Regions } from "../data/facts";
import { useDark, useSelection } from "../state/hooks";
import { useRegionColours } from "../state/colours";
import { type Inks, inksOf, setFont, write } from "../draw/ink";
import { Canvas, type Point } from "../parts/Canvas";
import { Scrollbar } from "../parts/Scrollbar";
import { Pairs, Tooltip } from "../parts/Tooltip";
import { memberLabel } from "../data/rows";
import { percent, time as asTime } from "../data/units";

export const ROW = 24; // px
const LEFT = 120; // px; width of the units' names
const RIGHT = 140; // px; width of the numbers after the bars
export const HEAD = 22;

export interface Part {
  region: number;
  value: number;
}

/** The contents of the bars. order: of the units. */
export interface Bars {
  spread: Spread;
  facts: Facts;
  regions: Regions;
  order: readonly number[];
  /** The role of all units, which their names leave out; "": they have several. */
  role: string;
  /** The only function to show; undefined: all functions. */
  one: Stats | undefined;
  time: Time;
  /** selected unit; -1: none */
  selected: number;
  /** Time of each unit in the other run; NaN: the other run has no such unit. */
  before: Float64Array | undefined;
  /** px; height of the chart; undefined: fills its container */
  high: number | undefined;
  onUnit: (unit: number) => void;
  onRegion: (region: number) => void;
}

/** The parts of a unit's bar, in the same order for all units. */
export function partsOf(bars: Bars, unit: number): Part[] {
  const { spread, one, time } = bars;
  if (one) return [{ region: one.region, value: spread.values(one.region, time)[unit]! }];
  return spread.parts(unit);
}

export function nameOf(regions: Regions, region: number): string {
  return region === NONE ? "all others" : (regions.names[region] ?? "");
}

interface Sight {
  inks: Inks;
  dark: boolean;
  colour: (region: number) => Colour;
  scroll: number;
  focus: number; // index in order; -1: none
  width: number;
  height: number;
  most: number; // s; length of the longest bar
}

function xOf(sight: Sight, value: number): number {
  const room = Math.max(sight.width - LEFT - RIGHT, 1);
  return LEFT + (sight.most > 0 ? (value / sight.most) * room : 0);
}

function paintBar(pen: CanvasRenderingContext2D, bars: Bars, sight: Sight, index: number, y: number): void {
  const unit = bars.order[index]!;
  const { inks } = sight;
  if (unit === bars.selected || index === sight.focus) {
    pen.fillStyle = inks.accent;
    pen.globalAlpha = unit === bars.selected ? 0.22 : 0.1;
    pen.fillRect(0, y, sight.width, ROW);
    pen.globalAlpha = 1;
  }
  let sum = 0;
  for (const part of partsOf(bars, unit)) {
    const x0 = xOf(sight, sum);
    sum += part.value;
    const x1 = xOf(sight, sum);
    if (x1 - x0 < 0.2) continue;
    pen.fillStyle = css(part.region === NONE ? muted(sight.dark) : sight.colour(part.region));
    pen.fillRect(x0, y + 3, Math.max(x1 - x0 - (x1 - x0 > 3 ? 1 : 0), 0.5), ROW - 6);
    pen.fillStyle = inks.ink;
    if (x1 - x0 > 40) write(pen, part.region === NONE ? "others" : (bars.regions.qualnames[part.region] ?? ""), x0 + 4, y + ROW / 2 + 1, x1 - x0 - 8);
  }
  const was = bars.before?.[unit] ?? Number.NaN;
  pen.fillStyle = inks.ink;
  if (!Number.isNaN(was)) pen.fillRect(Math.round(xOf(sight, was)) - 1, y + 1, 2, ROW - 2);
  write(pen, memberLabel(bars.spread.label(bars.facts, unit), bars.role), 12, y + ROW / 2 + 1, LEFT - 18);
  const far = bars.one?.outliers.includes(unit) ?? false;
  const mean = bars.one?.mean ?? 0;
  const behind = Math.max(xOf(sight, sum), Number.isNaN(was) ? 0 : xOf(sight, was));
  pen.fillStyle = far ? inks.warn : inks.soft;
  pen.fillText(asTime(sum), behind + 6, y + ROW / 2 + 1);
  if (far && mean > 0) {
    const wide = pen.measureText(asTime(sum)).width;
    pen.fillText(`${sum > mean ? "+" : "−"}${percent(Math.abs(sum / mean - 1))}`, behind + wide + 16, y + ROW / 2 + 1);
  }
}

/** Draws the mean over all units as a line, and the standard deviation on both sides. */
function paintMean(pen: CanvasRenderingContext2D, bars: Bars, sight: Sight): void {
  if (!bars.one) return;
  const { mean, std } = bars.one;
  const bottom = Math.min(sight.height, HEAD + bars.order.length * ROW - sight.scroll);
  pen.fillStyle = sight.inks.accent;
  pen.globalAlpha = 0.12;
  const from = Math.max(xOf(sight, mean - std), LEFT);
  pen.fillRect(from, HEAD, xOf(sight, mean + std) - from, bottom - HEAD);
  pen.globalAlpha = 1;
  pen.fillRect(xOf(sight, mean), HEAD - 4, 1, bottom - HEAD + 4);
}

function paint(pen: CanvasRenderingContext2D, bars: Bars, sight: Sight): void {
  const { inks } = sight;
  pen.fillStyle = inks.paper;
  pen.fillRect(0, 0, sight.width, sight.height);
  setFont(pen);
  const first = Math.floor(sight.scroll / ROW);
  const last = Math.min(bars.order.length, Math.ceil((sight.scroll + sight.height - HEAD) / ROW));
  for (let i = first; i < last; i++) paintBar(pen, bars, sight, i, HEAD + i * ROW - sight.scroll);
  pen.fillStyle = inks.paper;
  pen.fillRect(0, 0, sight.width, HEAD);
  paintMean(pen, bars, sight);
  pen.fillStyle = inks.soft;
  const head = bars.one
    ? `${TIMES[bars.time]}: mean ${asTime(bars.one.mean)}, standard deviation ${asTime(bars.one.std)}`
    : `${TIMES[bars.spread.self]} of each function`;
  write(pen, bars.before ? `${head}; the stroke: in the other run` : head, LEFT, HEAD / 2, sight.width - LEFT - 8);
  pen.fillStyle = inks.line;
  pen.fillRect(0, HEAD - 1, sight.width, 1);
  pen.fillRect(LEFT - 1, HEAD, 1, sight.height - HEAD);
}

/** The total of the bar in the other run. */
function wasOf(bars: Bars, { index }: Hit): [string, string][] {
  const unit = bars.order[index]!;
  const before = bars.before?.[unit] ?? Number.NaN;
  if (Number.isNaN(before)) return [];
  const now = partsOf(bars, unit).reduce((sum, part) => sum + part.value, 0);
  return [[bars.one ? "against the other run" : "all together, against the other run", both(asTime, { now, before })]];
}

interface Hit {
  index: number;
  region: number | undefined;
  value: number;
}

function hitAt(bars: Bars, sight: Sight, x: number, y: number): Hit | undefined {
  const index = Math.floor((y - HEAD + sight.scroll) / ROW);
  if (y < HEAD || index < 0 || index >= bars.order.length) return undefined;
  let sum = 0;
  for (const part of partsOf(bars, bars.order[index]!)) {
    const x0 = xOf(sight, sum);
    sum += part.value;
    if (x >= x0 && x < xOf(sight, sum)) return { index, region: part.region, value: part.value };
  }
  return { index, region: undefined, value: sum };
}

function useColour(regions: Regions, selected: number | undefined, one: boolean): { dark: boolean; inks: Inks; colour: (region: number) => Colour } {
  const dark = useDark();
  const own = useRegionColours(regions);
  const { theme } = useSelection();
  return useMemo(() => {
    const colour = (region: number): Colour => {
      const full = own(region);
      if (one || selected === undefined || region === selected) return full;
      return muted(dark);
    };
    return { dark, inks: inksOf(dark), colour };
  }, [own, dark, theme, selected, one]);
}

function press(bars: Bars, state: { scroll: number; focus: number }, height: number, key: string): boolean {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[key];
  const last = bars.order.length - 1;
  if (by) {
    state.focus = Math.min(Math.max(state.focus < 0 ? 0 : state.focus + by, 0), last);
    const y = state.focus * ROW;
    state.scroll = Math.min(Math.max(state.scroll, y + ROW - (height - HEAD)), y);
    return true;
  }
  if (key !== "Enter" || state.focus < 0) return false;
  bars.onUnit(bars.order[state.focus]!);
  return true;
}

export function BarChart(bars: Bars) {
  const { region } = useSelection();
  const colours = useColour(bars.regions, region, bars.one !== undefined);
  const state = useRef({ scroll: 0, focus: -1, width: 0, height: 0, hover: undefined as (Hit & { at: Point }) | undefined });
  const [version, redraw] = useReducer((n: number) => n + 1, 0) as [number, () => void];
  const most = useMemo(
    () => bars.order.reduce((most, unit) => Math.max(most, bars.before?.[unit] || 0, partsOf(bars, unit).reduce((sum, part) => sum + part.value, 0)), 0),
    [bars.spread, bars.one, bars.time, bars.before],
  );
  const now = state.current;
  const full = bars.order.length * ROW;
  const scrollTo = (at: number): void => {
    now.scroll = Math.min(Math.max(at, 0), Math.max(full - (now.height - HEAD), 0));
    redraw();
  };
  const sight = (): Sight => ({ ...colours, ...now, most });
  const draw = useMemo(
    () => (pen: CanvasRenderingContext2D) => paint(pen, bars, sight()),
    [version, bars.spread, bars.one, bars.time, bars.order, bars.selected, bars.before, bars.role, colours, most],
  );
  const unit = now.focus >= 0 ? bars.order[now.focus] : undefined;
  const described = (index: number): string => `${bars.spread.label(bars.facts, index)}: ${asTime(partsOf(bars, index).reduce((sum, part) => sum + part.value, 0))}`;
  const { hover } = now;
  return (
    <div class="barchart" style={bars.high ? { flex: `0 0 ${bars.high}px` } : undefined}>
      <Canvas
        label={`${bars.order.length} ${bars.spread.over} as bars; arrows go from one to the next, Enter selects it`}
        spoken={unit === undefined ? "" : described(unit)}
        draw={draw}
        cursor={hover ? "pointer" : "default"}
        onSize={(width, height) => {
          Object.assign(now, { width, height });
          redraw();
        }}
        onPoint={(at) => {
          const hit = hitAt(bars, sight(), at.x, at.y);
          now.hover = hit && { ...hit, at };
          redraw();
        }}
        onLeave={() => {
          now.hover = undefined;
          redraw();
        }}
        onClick={(at) => {
          const hit = hitAt(bars, sight(), at.x, at.y);
          if (!hit) return;
          now.focus = hit.index;
          if (at.x < LEFT || hit.region === undefined || hit.region === NONE) bars.onUnit(bars.order[hit.index]!);
          else bars.onRegion(hit.region);
          redraw();
        }}
        onWheel={(_, __, dy) => {
          scrollTo(now.scroll + dy);
          return full > now.height - HEAD;
        }}
        onKey={(event) => {
          const used = press(bars, now, now.height, event.key);
          if (used) redraw();
          return used;
        }}
      />
      <Scrollbar top={HEAD} height={full} seen={now.height - HEAD} at={now.scroll} onScroll={scrollTo} />
      {hover && (
        <Tooltip x={hover.at.clientX} y={hover.at.clientY}>
          <b>{hover.region === undefined ? bars.spread.label(bars.facts, bars.order[hover.index]!) : nameOf(bars.regions, hover.region)}</b>
          <Pairs of={[["on", bars.spread.label(bars.facts, bars.order[hover.index]!)], [TIMES[bars.one ? bars.time : bars.spread.self], asTime(hover.value)], ...wasOf(bars, hover)]} />
        </Tooltip>
      )}
    </div>
  );
}
