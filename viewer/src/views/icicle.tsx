// SPDX-License-Identifier: BSD-3-Clause
// The icicle: callers above callees, each as wide as its time.
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Boxes, Finder, boxesIn } from "../calltree/boxes";
import { Charted } from "../charts/charted";
import { PinnedPath } from "../charts/pinned";
import { INVERTED } from "../data/url";
import { useFacts, useReport, useSelection, useStore } from "../state/hooks";
import { Canvas, type Point } from "../parts/Canvas";
import { Menu } from "../parts/Menu";
import { Tooltip } from "../parts/Tooltip";
import { ROOT } from "../calltree/tree";
import { About, TREE_KEYS, type Chart, FONT, fillOf, label, themeColours, measurer, nameOf, spoken } from "../charts/treechart";
import type { View } from "../parts/view";

export const HIGH = 19; // pixels; height of a level
const PAD = 4;
const FACTOR = 1.0015; // zoom factor for a pixel of the wheel

interface Sight {
  from: number;
  to: number;
  /** The level at the top. */
  first: number;
}

/** The callers of the centre fill the width above it; the levels of the tree begin below them. */
interface Drawn {
  boxes: Boxes;
  finder: Finder;
  above: number[];
  sight: Sight;
  width: number;
}

export const LEVELS = [5, 10, 20, 40].map((n) => ({ value: String(n), title: String(n) })).concat({ value: "all", title: "all" });

function whole(chart: Chart): Sight {
  const from = chart.tree.startOf(chart.centre);
  return { from, to: from + (chart.tree.inclOf(chart.centre) || 1), first: 0 };
}

function place(chart: Chart, sight: Sight, width: number, height: number, levels: number): Drawn {
  const above = chart.centre === ROOT ? [] : chart.tree.ancestors(chart.centre);
  const room = Math.max(1, Math.ceil(height / HIGH));
  const first = Math.max(0, sight.first - above.length);
  const cut = {
    top: chart.centre,
    from: sight.from,
    to: sight.to,
    scale: width / (sight.to - sight.from),
    first,
    levels: Math.max(0, Math.min(room, levels - first)),
  };
  const boxes = boxesIn(chart.tree, cut);
  return { boxes, finder: new Finder(boxes), above, sight, width };
}

function text(pen: CanvasRenderingContext2D, chart: Chart, row: number, until: number, x: number, y: number, width: number): void {
  const measure = measurer(pen);
  const name = label(chart, row, until, width - 2 * PAD, measure);
  if (!name) return;
  const { ink, faint } = themeColours(chart);
  pen.fillStyle = until || (chart.hits && !chart.hits.rows[row]) ? faint : ink;
  pen.fillText(name, x + PAD, y + 13.5);
  if (until) return;
  const value = chart.tree.weight.show(chart.tree.incl[row]!);
  const used = measure(name) + 2 * PAD;
  const wide = measure(value);
  if (used + wide + 3 * PAD <= width) pen.fillText(value, x + width - wide - PAD, y + 13.5);
}

function box(pen: CanvasRenderingContext2D, chart: Chart, row: number, until: number, x: number, y: number, width: number): void {
  pen.fillStyle = fillOf(chart, row, until);
  pen.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.5), HIGH - 1);
  text(pen, chart, row, until, x, y, width);
}

function outline(pen: CanvasRenderingContext2D, x: number, y: number, width: number, colour: string, line: number): void {
  pen.strokeStyle = colour;
  pen.lineWidth = line;
  pen.strokeRect(x + line / 2, y + line / 2, Math.max(1, width - 1 - line), HIGH - 1 - line);
}

function draw(pen: CanvasRenderingContext2D, chart: Chart, drawn: Drawn, height: number): void {
  const { boxes, sight, above, width } = drawn;
  const { accent, paper, ink } = themeColours(chart);
  const scale = width / (sight.to - sight.from);
  pen.fillStyle = paper;
  pen.fillRect(0, 0, width, height);
  pen.font = FONT;
  above.forEach((row, level) => {
    const y = (level - sight.first) * HIGH;
    if (y < -HIGH || y > height) return;
    box(pen, chart, row, 0, 0, y, width);
    if (row === chart.focus) outline(pen, 0, y, width, ink, 1);
    if (row === chart.selected) outline(pen, 0, y, width, accent, 2);
  });
  for (let i = 0; i < boxes.row.length; i++) {
    const x = Math.max(0, (boxes.from[i]! - sight.from) * scale);
    const y = (boxes.depth[i]! + above.length - sight.first) * HIGH;
    const right = Math.min(width, (boxes.to[i]! - sight.from) * scale);
    const row = boxes.row[i]!;
    box(pen, chart, row, boxes.until[i]!, x, y, right - x);
    if (boxes.until[i]) continue;
    if (chart.tree.region[row] === chart.region && right - x > 3) outline(pen, x, y, right - x, accent, 1);
    if (row === chart.selected) outline(pen, x, y, right - x, accent, 2);
    else if (row === chart.focus && right - x > 3) outline(pen, x, y, right - x, ink, 1);
  }
}

/** The row, and for a combined box its end, at a point; undefined: none. */
function hit(drawn: Drawn, point: Point): { row: number; until: number } | undefined {
  const level = Math.floor(point.y / HIGH) + drawn.sight.first;
  if (level < 0) return undefined;
  if (level < drawn.above.length) return { row: drawn.above[level]!, until: 0 };
  const moment = drawn.sight.from + (point.x / drawn.width) * (drawn.sight.to - drawn.sight.from);
  const at = drawn.finder.at(level - drawn.above.length, moment);
  return at < 0 ? undefined : { row: drawn.boxes.row[at]!, until: drawn.boxes.until[at]! };
}

/** Zooms about a time, within the centre's range. */
export function zoomed(sight: Sight, about: number, factor: number, least: Sight): Sight {
  const width = Math.min(least.to - least.from, Math.max((sight.to - sight.from) * factor, 1e-9));
  const share = (about - sight.from) / (sight.to - sight.from);
  return panned({ ...sight, from: about - share * width, to: about + (1 - share) * width }, 0, least);
}

export function panned(sight: Sight, by: number, least: Sight): Sight {
  const width = sight.to - sight.from;
  const from = Math.max(least.from, Math.min(least.to - width, sight.from + by));
  return { ...sight, from, to: from + width };
}

function useSight(chart: Chart): [Sight, (sight: Sight) => void, Sight] {
  const least = useMemo(() => whole(chart), [chart.tree, chart.centre]);
  const [held, hold] = useState({ sight: least, least });
  return [held.least === least ? held.sight : least, (sight) => hold({ sight, least }), least];
}

function report(chart: Chart, drawn: Drawn | undefined) {
  const { tree } = chart;
  return {
    ready: drawn !== undefined,
    total: tree.total,
    weight: tree.weight.name,
    paths: tree.paths,
    rows: tree.count,
    centre: nameOf(chart, chart.centre),
    selected: chart.selected === ROOT ? null : nameOf(chart, chart.selected),
    focus: nameOf(chart, chart.focus),
    hits: chart.hits ? { regions: chart.hits.regions, paths: chart.hits.paths, time: chart.hits.time } : null,
    compared: tree.base !== undefined,
    inverted: chart.inverted,
    boxes: drawn?.boxes.row.length ?? 0,
    small: drawn?.boxes.until.filter((until) => until > 0).length ?? 0,
    top: tree.children(chart.centre).slice(0, 8).map((row) => ({ name: nameOf(chart, row), incl: tree.incl[row], excl: tree.excl[row], visits: tree.visits[row], running: tree.running?.[row] })),
  };
}

function Invert({ on }: { on: boolean }) {
  const store = useStore();
  return (
    <button
      class="quiet"
      aria-pressed={on}
      title="Each function with its self time, its callers below: a bottom-up flame graph"
      onClick={() => store.select({ invert: on ? undefined : INVERTED, inverse: undefined })}
    >
      Invert
    </button>
  );
}

function Icicle() {
  const [levels, setLevels] = useState("all");
  const isInverted = PAGE && useSelection().invert === INVERTED;
  const menu = (
    <>
      {PAGE && <Invert on={isInverted} />}
      <Menu label="Levels" value={levels} options={LEVELS} onChange={setLevels} />
    </>
  );
  return (
    <Charted menu={menu} isInverted={isInverted}>
      {(chart) => (
        <div class="split">
          <Picture chart={chart} levels={levels === "all" ? Infinity : Number(levels)} />
          {PAGE && <PinnedPath chart={chart} />}
        </div>
      )}
    </Charted>
  );
}

interface Over {
  point: Point;
  row: number;
  until: number;
}

/** Changes the visible part for mouse, wheel and keys. */
class Mover {
  constructor(
    readonly sight: Sight,
    readonly least: Sight,
    readonly set: (sight: Sight) => void,
    /** The last level, and the number of levels that fit. */
    private readonly deepest: number,
    private readonly room: number,
    private readonly width: number,
  ) {}

  private get second(): number {
    return (this.sight.to - this.sight.from) / (this.width || 1);
  }

  private level(first: number): number {
    return Math.max(0, Math.min(Math.max(0, this.deepest - this.room), first));
  }

  reveal(level: number): void {
    if (level < this.sight.first || level >= this.sight.first + this.room - 1)
      this.set({ ...this.sight, first: this.level(level - (this.room >> 1)) });
  }

  drag(before: Sight, x: number, y: number): void {
    const by = (x / (this.width || 1)) * (before.to - before.from);
    this.set({ ...panned(before, by, this.least), first: this.level(before.first + Math.round(y / HIGH)) });
  }

  wheel(x: number, dx: number, dy: number, across: boolean): void {
    if (across || Math.abs(dx) > Math.abs(dy)) this.set(panned(this.sight, (dx || dy) * this.second, this.least));
    else this.set(zoomed(this.sight, this.sight.from + x * this.second, FACTOR ** dy, this.least));
  }

  key(key: string): boolean {
    const factor = { "+": 0.5, "=": 0.5, "-": 2 }[key];
    const page = { PageDown: 8, PageUp: -8 }[key];
    if (factor) this.set(zoomed(this.sight, (this.sight.from + this.sight.to) / 2, factor, this.least));
    else if (page) this.set({ ...this.sight, first: this.level(this.sight.first + page) });
    return Boolean(factor ?? page);
  }
}

function click(chart: Chart, mover: Mover, found: { row: number; until: number }, only: boolean): void {
  if (found.until) {
    // a combined box is zoomed to the whole width
    const from = chart.tree.start[found.row]!;
    mover.set({ ...mover.sight, from, to: chart.tree.endOfRun(found.row, found.until) });
  } else if (only) chart.select(found.row);
  else chart.go(found.row);
}

/** part: the picture is part of another view, which reports to tests. */
export function Picture({ chart, levels, part }: { chart: Chart; levels: number; part?: boolean }) {
  const { title } = useFacts();
  const [sight, setSight, least] = useSight(chart);
  const [over, setOver] = useState<Over | undefined>(undefined);
  const drawn = useRef<Drawn | undefined>(undefined);
  const dragged = useRef<Sight | undefined>(undefined);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const mover = new Mover(sight, least, setSight, Math.min(levels, chart.tree.deepest) + 2, Math.max(1, Math.floor(size.height / HIGH)), size.width);
  useReport(part ? undefined : () => report(chart, drawn.current));
  const paint = useCallback(
    (pen: CanvasRenderingContext2D, wide: number, high: number) => {
      drawn.current = place(chart, sight, wide, high, levels);
      draw(pen, chart, drawn.current, high);
    },
    [chart.tree, chart.dark, chart.centre, chart.selected, chart.region, chart.hits, chart.colour, chart.focus, sight, levels],
  );
  useEffect(() => {
    if (chart.focus !== ROOT && size.height) mover.reveal(chart.tree.depth[chart.focus]!);
  }, [chart.focus, size.height > 0]);
  const found = (point: Point) => drawn.current && hit(drawn.current, point);
  return (
    <>
      <Canvas
        label={`${PAGE && chart.inverted ? "Inverted icicle, callers below," : "Icicle"} of the call tree of ${title}. Arrows move, Enter centres, Escape goes out, plus and minus zoom.`}
        spoken={spoken(chart, chart.focus)}
        draw={paint}
        cursor={over ? "pointer" : "default"}
        onSize={(width, height) => setSize({ width, height })}
        onPoint={(point) => {
          const at = found(point);
          setOver(at && { point, ...at });
        }}
        onLeave={() => setOver(undefined)}
        onClick={(point, event) => {
          const at = found(point);
          setOver(undefined);
          if (at) click(chart, mover, at, event.shiftKey);
        }}
        onDrag={(from, to, done) => {
          setOver(undefined);
          mover.drag((dragged.current ??= sight), from.x - to.x, from.y - to.y);
          if (done) dragged.current = undefined;
        }}
        onWheel={(point, dx, dy, event) => {
          setOver(undefined);
          mover.wheel(point.x, dx, dy, event.shiftKey);
          return true;
        }}
        onKey={(event) => mover.key(event.key) || chart.key(event)}
      />
      {over && (
        <Tooltip x={over.point.clientX} y={over.point.clientY}>
          <About chart={chart} row={over.row} until={over.until} />
        </Tooltip>
      )}
    </>
  );
}

export const icicle: View = {
  id: "icicle",
  title: "Icicle",
  available: () => true,
  filtered: "toolbar",
  component: Icicle,
  keys: [...TREE_KEYS, ["+ −", "zoom"], ["Page Up  Page Down", "through the levels"]],
};
