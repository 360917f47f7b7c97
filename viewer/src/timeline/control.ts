// SPDX-License-Identifier: BSD-3-Clause
// The visible range of time and the rows of a timeline, and how pointer and keyboard change them.
import type { Columns } from "../data/columns";
import type { Facts } from "../data/facts";
import { CHART, CHARTS, type Series } from "./charts";
import { BLOCK, type Crowds, crowdsOf, LANE, Layout, listRows, locationLabel, type Order, type Row, type Shown, singleRow, type Task, threadsAtFirst } from "../data/rows";
import { barAt, type Block, blockAt, type Cell, cellAt, depthIn, neighbour, pathAt, type TimelineData } from "./data";
import { crowdAt, type CrowdCell, type CrowdTile } from "./crowd";
import { MINI, miniTime, RULER } from "./head";
import { type Asked } from "./cache";
import type { Overview, Stack, Steps } from "./data";
import { movedLocations, movedProcesses } from "../data/moves";
import { clamp, length, pan, range, Scale, type Span, zoom } from "../data/timescale";

const LANES = 14; // maximum of levels in an open row

export interface Focus {
  row: number;
  lane: number; // -1: the row's first line
  time: number;
}
export type Zone = "mini" | "ruler" | "charts" | "gutter" | "rows";
export interface Hit extends Focus {
  zone: Zone;
  x: number;
  y: number;
}
export type Drag = { kind: "pan"; span: Span; scroll: number } | { kind: "range"; from: number; to: number } | { kind: "mini" };

/** The answers for the current picture. */
export interface Answers {
  overviews: ReadonlyMap<string, Asked<Overview>>;
  crowds: ReadonlyMap<string, Asked<CrowdTile>>;
  stacks: ReadonlyMap<string, Asked<Stack>>;
  steps: ReadonlyMap<string, Asked<Steps>>;
  messages?: Asked<Columns<"messages">> | undefined;
}

/** The pointer, also within the window. */
export type Hover = Hit & { clientX: number; clientY: number };

function put<T>(set: Set<T>, all: readonly (T | undefined)[]): void {
  set.clear();
  for (const one of all) if (one !== undefined) set.add(one);
}

export class Control {
  span: Span;
  scroll = 0;
  readonly opened = new Set<string>(); // these four are only changed by this class, which then updates the rows
  readonly threads = new Set<number>();
  readonly tasksOf = new Set<number>();
  readonly unfolded = new Set<string>(); // keys of crowds whose members are shown
  readonly crowds: Crowds | undefined;
  private order: Order = "number";
  focus: Focus | undefined;
  hover: Hover | undefined;
  drag: Drag | undefined;
  width = 800;
  height = 400;
  left = 196;
  series: Series[] = []; // counters
  answers: Answers = { overviews: new Map(), crowds: new Map(), stacks: new Map(), steps: new Map() };
  private deep = new Map<number, number>(); // depth of the visible calls by location
  private laid: { room: number; tasks: readonly Task[]; layout: Layout } | undefined; // cached; undefined after a change of rows or height

  constructor(
    readonly facts: Facts,
    readonly data: TimelineData,
    public tasks: readonly Task[],
    readonly single: number | undefined, // the only location to show, with its call stack
    first: Span | undefined,
  ) {
    this.crowds = crowdsOf(facts);
    const whole = data.whole;
    const around = first && length(first) > 0 ? { begin: first.begin - length(first) * 0.1, end: first.end + length(first) * 0.1 } : whole;
    this.span = pan(range(around.begin, around.end, whole) ?? whole, 0, whole);
    if (single !== undefined) this.opened.add(`l${single}`);
    else if (facts.locations.length === 1) this.opened.add("l0");
  }

  /** Takes over what is visible from the timeline of an earlier version of the run. A whole run stays whole. */
  take(before: Control): void {
    const { span, data } = before;
    const isWhole = span.begin <= data.whole.begin && span.end >= data.whole.end;
    this.span = isWhole ? this.data.whole : clamp(span, this.data.whole);
    Object.assign(this, { width: before.width, height: before.height, left: before.left, scroll: before.scroll, hover: before.hover, focus: before.focus, drag: before.drag });
    const [process, location] = [movedProcesses(before.facts, this.facts), movedLocations(before.facts, this.facts)];
    const rows = [...before.opened].map((key) => location(Number(key.slice(1)))); // keys of rows of threads
    put(this.opened, rows.map((index) => (index === undefined ? undefined : `l${index}`)));
    put(this.unfolded, [...before.unfolded]);
    this.order = before.order;
    put(this.threads, [...before.threads].map(process));
    put(this.tasksOf, [...before.tasksOf].map(process));
    for (const [index, depth] of before.deep) this.deep.set(location(index) ?? index, depth);
    this.laid = undefined;
  }

  /** px; height of the charts between ruler and rows */
  get charts(): number {
    return Math.min(this.series.length, CHARTS) * CHART;
  }
  get top(): number {
    return MINI + RULER + this.charts;
  }
  get scale(): Scale {
    return new Scale(this.span, Math.max(this.width - this.left, 1));
  }

  /** The only locations to show; undefined: all. */
  set only(locations: ReadonlySet<number> | undefined) {
    if (locations === this.shownOnly) return;
    this.shownOnly = locations;
    this.laid = undefined;
    this.focus = undefined;
  }
  private shownOnly: ReadonlySet<number> | undefined;

  /** The rows of the only locations. A row whose process has no row above it names the process. */
  private some(rows: Row[]): Row[] {
    const { shownOnly: only, facts } = this;
    if (!only) return rows;
    const shown = rows.filter((row) => (row.crowd ? row.crowd.locations.some((location) => only.has(location)) : only.has(row.location)));
    return shown.map((row) => (row.kind === "thread" && !row.main ? { ...row, label: locationLabel(facts, row.location) } : row));
  }

  get layout(): Layout {
    const room = this.height - this.top;
    if (this.laid && this.laid.room === room && this.laid.tasks === this.tasks) return this.laid.layout;
    const shown: Shown = {
      opened: this.opened,
      lanes: (row) => Math.min(this.depth(row.location), this.most),
      threads: this.threads,
      tasks: this.tasksOf,
      crowds: this.crowds,
      unfolded: this.unfolded,
      order: this.order,
      room,
    };
    const rows = this.single === undefined ? this.some(listRows(this.facts, this.tasks, shown)) : [singleRow(this.facts, this.single)];
    const layout = new Layout(rows, shown);
    this.laid = { room, tasks: this.tasks, layout };
    return layout;
  }

  /** Maximum of levels in an open row, so that a deep thread does not fill the screen unless it is the only one. */
  get most(): number {
    return this.single === undefined ? LANES : Number.POSITIVE_INFINITY;
  }
  depth(location: number): number {
    return this.deep.get(location) ?? 1;
  }
  /** Sets the answers for the picture: the height of rows depends on the depth of the visible calls. */
  answered(answers: Answers): void {
    this.answers = answers;
    for (const [location, asked] of answers.stacks)
      if (asked.pieces.length > 0) this.deepen(Number(location), Math.max(depthIn(asked, this.span), 1));
  }
  private deepen(location: number, depth: number): void {
    if (this.depth(location) === depth) return;
    this.deep.set(location, depth);
    this.laid = undefined;
  }

  /** The row of a location: its own, or if threads are hidden, that of its process. */
  rowOf(location: number): number {
    const rows = this.layout.rows;
    if (this.known?.rows !== rows) {
      const by = new Map<number, number>();
      rows.forEach((row, i) => !this.unfolded.has(row.key) && row.crowd?.locations.forEach((location) => by.set(location, i)));
      rows.forEach((row, i) => row.kind === "thread" && by.set(row.location, i));
      const mains = new Map<number, number>();
      rows.forEach((row, i) => row.main && mains.set(row.process, i));
      this.known = { rows, by, mains };
    }
    const own = this.known.by.get(location);
    if (own !== undefined) return own;
    return this.known.mains.get(this.facts.locations[location]?.process ?? -1) ?? -1;
  }
  private known: { rows: readonly Row[]; by: Map<number, number>; mains: Map<number, number> } | undefined;

  openable(row: number): boolean {
    return this.single === undefined && this.layout.rows[row] !== undefined && this.layout.rows[row].kind !== "task";
  }

  hit(x: number, y: number): Hit {
    const time = this.scale.time(x - this.left);
    const at = { x, y, row: -1, lane: -1, time };
    if (y < MINI) return { ...at, zone: "mini", time: miniTime(x, this.left, this.width - this.left, this.data.whole) };
    if (y < MINI + RULER) return { ...at, zone: "ruler" };
    if (y < this.top) return { ...at, zone: "charts" };
    const inside = y - this.top + this.scroll;
    const row = inside < this.layout.height ? this.layout.at(inside) : -1;
    const lane = row < 0 ? -1 : this.layout.lane(row, inside);
    if (x < this.left) return { ...at, zone: "gutter", row, lane, time: (this.span.begin + this.span.end) / 2 };
    return { ...at, zone: "rows", row, lane };
  }

  /** Updates what is at the pointer after the rows or the time in view have changed. */
  follow(): void {
    if (this.hover) this.hover = { ...this.hover, ...this.hit(this.hover.x, this.hover.y) };
  }

  /** The call, or calls, at a point of a row, or the function that ran longest there. */
  block(at: Focus): Block | undefined {
    const row = this.layout.rows[at.row];
    if (!row || at.lane < 0) return undefined;
    return blockAt(this.stacks(row.location), at.lane, at.time, this.scale.pixel * 1.5);
  }
  stacks(location: number): Asked<Stack> | undefined {
    return this.answers.stacks.get(String(location));
  }
  overview(location: number): Asked<Overview> | undefined {
    return this.answers.overviews.get(String(Math.floor(location / BLOCK)));
  }
  cell(at: Focus): Cell | undefined {
    const row = this.layout.rows[at.row];
    if (row?.kind !== "thread") return undefined;
    return cellAt(this.overview(row.location), row.location, at.time, this.data.whole);
  }
  /** What a crowd did in the column at a point. */
  crowd(at: Focus): CrowdCell | undefined {
    const row = this.layout.rows[at.row];
    return row?.crowd && crowdAt(this.answers.crowds.get(row.key), at.time, this.data.whole);
  }
  /** The bar at a point of a row's first line: cells of the same function. */
  bar(at: Focus): Span | undefined {
    const row = this.layout.rows[at.row];
    return row?.kind === "thread" && at.lane < 0 ? barAt(this.overview(row.location), row.location, at.time, this.data.whole) : undefined;
  }
  path(at: Focus, block: Block): number[] | undefined {
    const row = this.layout.rows[at.row];
    return row && pathAt(this.stacks(row.location), at.lane, block);
  }

  setScroll(to: number): void {
    this.scroll = Math.min(Math.max(to, 0), Math.max(this.layout.height - (this.height - this.top), 0));
  }
  zoomAt(time: number, factor: number): void {
    this.span = zoom(this.span, time, factor, this.data.whole);
  }
  panBy(share: number): void {
    this.span = pan(this.span, length(this.span) * share, this.data.whole);
  }
  fit(span: Span): void {
    const air = length(span) * 0.05;
    this.span = range(span.begin - air, span.end + air, this.data.whole) ?? this.span;
    this.zoomAt((span.begin + span.end) / 2, 1);
  }
  toggle(row: number): void {
    const { key } = this.layout.rows[row]!;
    if (!this.openable(row)) return;
    const set = this.layout.rows[row]!.crowd ? this.unfolded : this.opened;
    if (!set.delete(key)) set.add(key);
    this.laid = undefined;
    if (this.focus?.row === row) this.focus = { ...this.focus, lane: -1 };
  }
  threadsShown(process: number): boolean {
    return threadsAtFirst(this.facts, process, this.crowds) !== this.threads.has(process);
  }
  /** Whether all crowds are open. */
  get isUnfolded(): boolean {
    return this.folds.every((key) => this.unfolded.has(key));
  }
  private get folds(): string[] {
    return this.crowds ? [...this.crowds.processes, ...[...this.crowds.threads.values()].flat()].map(({ key }) => key) : [];
  }
  unfold(all: boolean): void {
    put(this.unfolded, all ? this.folds : []);
    this.laid = this.focus = undefined;
  }
  sortBy(order: Order): void {
    if (order === this.order) return;
    this.order = order;
    this.laid = this.focus = undefined;
  }
  toggleMore(process: number, what: "threads" | "tasks"): void {
    const set = what === "threads" ? this.threads : this.tasksOf;
    if (!set.delete(process)) set.add(process);
    this.laid = undefined;
    this.focus = undefined;
  }

  wheel(x: number, y: number, dx: number, dy: number, shift: boolean): void {
    const at = this.hit(x, y);
    if (at.zone === "gutter") this.setScroll(this.scroll + dy);
    else if (shift || Math.abs(dx) > Math.abs(dy)) this.panBy((shift && !dx ? dy : dx) / Math.max(this.width - this.left, 1));
    else this.zoomAt(Math.min(Math.max(this.scale.time(x - this.left), this.span.begin), this.span.end), Math.exp(Math.min(Math.max(dy, -200), 200) * 0.004));
  }

  /** Returns the selected range when the button is released. Otherwise undefined. */
  dragTo(from: { x: number; y: number }, to: { x: number; y: number }, done: boolean, shift: boolean): Span | undefined {
    const start = this.hit(from.x, from.y);
    this.drag ??=
      start.zone === "mini"
        ? { kind: "mini" }
        : start.zone === "ruler" || shift
          ? { kind: "range", from: start.time, to: start.time }
          : { kind: "pan", span: this.span, scroll: this.scroll };
    const drag = this.drag;
    if (done) this.drag = undefined;
    if (drag.kind === "mini") {
      const middle = miniTime(to.x, this.left, this.width - this.left, this.data.whole);
      this.span = pan(this.span, middle - (this.span.begin + this.span.end) / 2, this.data.whole);
    } else if (drag.kind === "pan") {
      const pixel = length(drag.span) / Math.max(this.width - this.left, 1);
      this.span = pan(drag.span, (from.x - to.x) * pixel, this.data.whole);
      this.setScroll(drag.scroll + from.y - to.y);
    } else {
      drag.to = this.scale.time(Math.min(Math.max(to.x, this.left), this.width) - this.left);
      if (done) return range(drag.from, drag.to, this.data.whole);
    }
    return undefined;
  }

  /** Moves the focus up (-1) or down (1) by one line. */
  step(way: -1 | 1): void {
    const { layout } = this;
    const middle = (this.span.begin + this.span.end) / 2;
    if (layout.rows.length === 0) return;
    if (!this.focus) {
      this.focus = { row: layout.at(this.scroll), lane: -1, time: middle };
      return;
    }
    let { row, lane } = this.focus;
    lane += way;
    if (lane < -1) {
      if (row === 0) return;
      row -= 1;
      lane = this.lanes(row) - 1;
    } else if (lane >= this.lanes(row)) {
      if (row === layout.rows.length - 1) return;
      row += 1;
      lane = -1;
    }
    this.focus = { row, lane, time: this.focus.time };
    this.reveal();
  }

  /** Moves the focus to the previous or next call; in other rows along the time axis. */
  along(way: -1 | 1): void {
    const block = this.focus && this.block(this.focus);
    const row = this.focus && this.layout.rows[this.focus.row];
    if (!this.focus || !row || this.focus.lane < 0) return this.panBy(way * 0.1);
    const next = block && neighbour(this.stacks(row.location), this.focus.lane, block, way);
    if (!next) return this.panBy(way * 0.1);
    const time = (next.begin + next.end) / 2;
    this.focus = { ...this.focus, time };
    this.showTime(time);
  }
  private showTime(time: number): void {
    if (time < this.span.begin || time > this.span.end) this.span = pan(this.span, time - (this.span.begin + this.span.end) / 2, this.data.whole);
  }

  /** Moves the focus to a location and time: in an open row to the innermost call there. */
  goTo(location: number, time: number): void {
    const row = this.rowOf(location);
    if (row < 0) return;
    let lane = this.layout.rows[row]!.location === location ? this.lanes(row) - 1 : -1;
    while (lane >= 0 && !this.block({ row, lane, time })) lane--;
    this.focus = { row, lane, time };
    this.showTime(time);
    this.reveal();
  }

  private lanes(row: number): number {
    const { key, location } = this.layout.rows[row]!;
    return this.opened.has(key) ? Math.min(this.depth(location), this.most) : 0; // crowds are not in the set
  }
  private reveal(): void {
    const { row, lane } = this.focus!;
    const y = this.layout.tops[row]! + (lane < 0 ? 0 : this.layout.row + lane * LANE);
    const seen = this.height - this.top;
    if (y < this.scroll) this.setScroll(y);
    else if (y + this.layout.row > this.scroll + seen) this.setScroll(y + this.layout.row - seen);
  }
}

/** Handles the keys that change the view; false: another key. */
export function press(control: Control, key: string): boolean {
  const middle = control.focus && control.focus.time > control.span.begin && control.focus.time < control.span.end ? control.focus.time : (control.span.begin + control.span.end) / 2;
  switch (key) {
    case "+":
    case "=":
    case "w":
    case "W":
      control.zoomAt(middle, 1 / 1.5);
      return true;
    case "-":
    case "s":
    case "S":
      control.zoomAt(middle, 1.5);
      return true;
    case "a":
    case "A":
      control.panBy(-0.2);
      return true;
    case "d":
    case "D":
      control.panBy(0.2);
      return true;
    case "0":
    case "Home":
      control.span = control.data.whole;
      return true;
    case "ArrowUp":
      control.step(-1);
      return true;
    case "ArrowDown":
      control.step(1);
      return true;
    case "ArrowLeft":
      control.along(-1);
      return true;
    case "ArrowRight":
      control.along(1);
      return true;
    case "t":
    case "T": {
      const row = control.focus && control.layout.rows[control.focus.row];
      if (row) control.toggleMore(row.process, "threads");
      return Boolean(row);
    }
    case "k":
    case "K": {
      const row = control.focus && control.layout.rows[control.focus.row];
      if (row) control.toggleMore(row.process, "tasks");
      return Boolean(row);
    }
    case "PageUp":
    case "PageDown":
      control.setScroll(control.scroll + (key === "PageUp" ? -1 : 1) * (control.height - control.top - control.layout.row));
      return true;
    default:
      return false;
  }
}
