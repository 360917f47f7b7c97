// SPDX-License-Identifier: BSD-3-Clause
// The timeline. It draws known data at once after input, and gets finer when answers arrive.
import type { Bundle, MakeBands, Part, Picture } from "./picture";
import type { ComponentChildren } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { OneRun } from "../parts/against";
import type { Colour } from "../draw/colour";
import { type Columns, NONE } from "../data/columns";
import type { Critical } from "../data/contract";
import type { Facts, Regions } from "../data/facts";
import type { Source } from "../data/source";
import { useAnswer, useDark, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Canvas, type Point } from "../parts/Canvas";
import { Menu, Toolbar } from "../parts/Menu";
import { Scrollbar } from "../parts/Scrollbar";
import { blend, Palette, pixelOf, Raster } from "../draw/raster";
import { BLOCK, blocksOf, LANE, type Order, type Task } from "../data/rows";
import type { Selection, Store } from "../state/store";
import { Control, type Focus, press } from "./control";
import { metricSeries, paintCharts, seriesOf } from "./charts";
import { peakOf } from "./crowd";
import { TimelineData } from "./data";
import { FilteredCalls } from "./filtered";
import "./timeline.css";
import { Details, Tip } from "./details";
import { type Inks, inksOf } from "../draw/ink";
import { paintRows } from "./draw";
import { MINI, moreOf, nameAt, paintFrame, paintGrid, paintGutter, paintMini, paintRuler, RULER } from "./head";
import { lineOf, samePlaces } from "./messages";
import { reportOf } from "./report";
import { gutterTitle, lineAt, pinnedAt, spokenOf, tipAt } from "./under";
import { clamp, length, ruler, type Span } from "../data/timescale";
import { search } from "../calltree/tree";
import { useRoleLocations } from "../state/roles";
import { useVisible } from "../state/visible";
import { KnownShades, useRegionColours } from "../state/colours";
import type { Shades } from "../draw/shades";
import { Legend } from "../parts/legend";
import { inModule } from "../state/highlighted";
import { count, time } from "../data/units";
import { isComplete, type Sight } from "./sight";

/** The colours of functions that differ within a row, by state, or between rows, by process or thread. */
function rowColours(facts: Facts, shades: Shades | undefined, palette: Palette, dimmed: (region: number) => boolean, inks: Inks, tone: string | undefined): Pick<Picture, "base" | "waits"> {
  const plain = (region: number): number => palette.pixel(region);
  if (!shades?.waits && !shades?.over) return { base: plain, waits: undefined };
  const pixels = shades.classes.map((_, at) => pixelOf(shades.colour(at, inks.dark, tone)));
  const shown = (region: number, at: number): number => (dimmed(region) ? blend(pixels[at]!, inks.paperPixel, 64) : pixels[at]!);
  const { waits, over } = shades;
  if (waits) return { base: (region) => shown(region, 0), waits: (region) => shown(region, waits(region)) };
  const classes = new Map(shades.classes.map(({ unit }, at) => [unit, at]));
  const base = (region: number, location: number): number => {
    const at = classes.get(over === "location" ? location : (facts.locations[location]?.process ?? -1));
    return at === undefined ? plain(region) : shown(region, at); // of a crowd the colours of its functions
  };
  return { base, waits: undefined };
}

/** The colours of regions; those that search or selection exclude are faded. */
function useColours(facts: Facts, regions: Regions, selection: Selection): { palette: Palette; dimmed: (region: number) => boolean; inks: Inks; found: Uint8Array | undefined } & Pick<Picture, "base" | "waits"> {
  const dark = useDark();
  const found = useMemo(() => search(regions.lowered(), selection.search), [regions, selection.search]);
  const { region, module, theme, tone } = selection;
  const own = useRegionColours(regions);
  const shades = useContext(KnownShades);
  return useMemo(() => {
    const inks = inksOf(dark);
    const dimmed = (one: number): boolean => {
      if (found) return !found[one];
      if (region !== undefined) return one !== region;
      return module !== undefined && !inModule(regions.groupOf(one), module);
    };
    const colour = (one: number): Colour => {
      const full = own(one);
      if (!dimmed(one)) return full;
      const faded = blend(pixelOf(full), inks.paperPixel, 64);
      return [faded & 255, (faded >>> 8) & 255, (faded >>> 16) & 255];
    };
    const palette = new Palette(regions.count, colour);
    return { palette, dimmed, inks, found, ...rowColours(facts, shades, palette, dimmed, inks, tone) };
  }, [regions, own, found, region, module, dark, theme, facts, shades, tone]);
}

const asParts = (columns: Columns<"critical">): Critical["pieces"] => columns.meta.pieces;
const asTasks = (columns: Columns<"tasks">): Task[] => columns.meta.tasks;

function rangeOf({ begin, end }: Selection, whole: Span): Span | undefined {
  if (begin === undefined && end === undefined) return undefined;
  return { begin: begin ?? whole.begin, end: end ?? whole.end };
}

function askSeries(control: Control, facts: Facts): void {
  const { data, span } = control;
  const width = control.width - control.left;
  const counters = facts.has.counters ? seriesOf(data.counters.want(["c"], span, width).get("c"), span) : [];
  const metrics = facts.has.metrics ? metricSeries(data.metrics.want(["m"], span, width).get("m"), span, facts) : [];
  const found = [...counters, ...metrics];
  // keep the previous series while answers are outstanding
  if (found.length >= control.series.length || !(data.counters.busy || data.metrics.busy)) control.series = found;
}

/** Queries the data of the picture. */
function ask({ control, facts, bands, filter }: Sight): void {
  const { layout, data, scroll, span } = control;
  const [first, last] = layout.visible(scroll, scroll + control.height - control.top);
  const rows = layout.rows.slice(first, last).filter((row) => row.kind === "thread");
  const wide = (control.width - control.left) * Math.min(window.devicePixelRatio || 1, 2);
  const locations = rows.map((row) => row.location);
  const crowds = layout.rows.slice(first, last).flatMap(({ crowd }) => crowd ?? []);
  bands?.want(locations, crowds, span, wide);
  const overviews = data.overviews.want(bands ? [] : blocksOf(locations).map(String), span, wide);
  const tasks = layout.rows.slice(first, last).filter((row) => row.kind === "task");
  const steps = data.steps.want(blocksOf(tasks.map((row) => control.tasks[row.task]?.id ?? -1)).map(String), span, wide);
  const focused = control.focus && layout.rows[control.focus.row];
  // the stack of the pinned element is part of its details
  const open = rows.filter((row) => filter || control.opened.has(row.key) || (row === focused && !bands)).map((row) => String(row.location));
  if (control.single === undefined) askSeries(control, facts);
  const messages = facts.has.messages ? data.messages.want(["m"], span, control.width - control.left).get("m") : undefined;
  const stacks = data.stacks.want(open, span, wide);
  const folded = data.wantCrowds(bands ? [] : crowds, span, wide);
  if (filter === "loading") control.answered({ overviews: new Map(), crowds: folded, steps, stacks: new Map(), messages });
  else if (filter) control.answered({ overviews: filter.overviewsOf(overviews, stacks, data.whole), crowds: folded, steps, stacks: filter.stacksOf(stacks), messages });
  else control.answered({ overviews, crowds: folded, steps, stacks, messages });
  control.setScroll(control.scroll);
}

function boxOf(p: Picture, control: Control, at: Focus): { x: number; y: number; width: number; height: number } | undefined {
  const row = control.layout.rows[at.row];
  if (!row) return undefined;
  const y = p.top + control.layout.tops[at.row]! - control.scroll;
  const block = control.block(at);
  if (block) {
    const x0 = Math.max(p.left + p.scale.x(block.begin), p.left - 4);
    const x1 = Math.min(p.left + p.scale.x(block.end), p.width + 4);
    return { x: x0, y: y + p.layout.row + at.lane * LANE + 0.5, width: x1 - x0 - 1, height: LANE - 1 };
  }
  const bar = p.bands ? undefined : control.bar(at);
  if (!bar) return undefined;
  const [x0, x1] = [Math.max(p.left + p.scale.x(bar.begin), p.left - 4), Math.min(p.left + p.scale.x(bar.end), p.width + 4)];
  return { x: x0, y: y + 1, width: x1 - x0, height: p.layout.row - 3 };
}

/** The lines of messages to emphasize: at the pointer, and of the pinned element. */
function strongLines(sight: Sight, p: Picture): Bundle[] {
  const pinned = pinnedAt(sight)?.leap;
  return [lineAt(sight), pinned && lineOf(p, pinned.message)].filter((line) => line !== undefined);
}

function paint(sight: Sight, colours: ReturnType<typeof useColours>, selection: Selection, critical: readonly Part[] | undefined, pen: CanvasRenderingContext2D, width: number, height: number): void {
  sight.stale = false;
  const { control, facts, regions, raster } = sight;
  control.setScroll(control.scroll);
  ask(sight);
  const { drag } = control;
  const chosen = drag?.kind === "range" ? { begin: Math.min(drag.from, drag.to), end: Math.max(drag.from, drag.to) } : rangeOf(selection, control.data.whole);
  const p: Picture = {
    pen,
    facts,
    regions,
    raster,
    ...colours,
    scale: control.scale,
    marks: ruler(control.span, control.scale.width),
    whole: control.data.whole,
    left: control.left,
    top: control.top,
    width,
    height,
    layout: control.layout,
    scroll: control.scroll,
    tasks: control.tasks,
    small: control.data.small,
    bands: sight.bands,
    ...control.answers,
    markers: control.data.markers,
    critical,
    range: chosen,
    rowOf: (location) => control.rowOf(location),
    blockOf: (location) => String(Math.floor(location / BLOCK)),
  };
  pen.fillStyle = colours.inks.paper;
  pen.fillRect(0, 0, width, height);
  const known = sight.last.picture && samePlaces(sight.last.picture, p) ? sight.last.messages : undefined;
  sight.last = { ...paintRows(p, known, strongLines(sight, p)), picture: p };
  paintGrid(p);
  const focus = control.focus && boxOf(p, control, control.focus);
  if (focus) paintFrame(p, focus, true);
  const hover = control.hover?.zone === "rows" && !drag ? boxOf(p, control, control.hover) : undefined;
  if (hover) paintFrame(p, hover, false);
  paintGutter(p, {
    opened: (row) => control.opened.has(control.layout.rows[row]!.key) || control.unfolded.has(control.layout.rows[row]!.key),
    below: (row) => crowdText(control, row),
    focus: control.focus?.row ?? -1,
    selected: (row) => selection.location !== undefined && control.layout.rows[row]?.location === selection.location && control.layout.rows[row]?.kind === "thread",
    openable: (row) => control.openable(row),
    ...moreShown(control),
    deeper: (row) => (control.opened.has(control.layout.rows[row]!.key) ? Math.max(control.depth(control.layout.rows[row]!.location) - control.most, 0) : 0),
  });
  paintMini(p);
  paintRuler(p, MINI, control.hover?.x);
  paintCharts(p, control.series, MINI + RULER);
}

function moreShown(control: Control): { threads: (process: number) => boolean; tasks: (process: number) => boolean } {
  return { threads: (process) => control.threadsShown(process), tasks: (process) => control.tasksOf.has(process) };
}

/** What is written below the name of a crowd: the number of threads that its picture is as high as. */
function crowdText(control: Control, row: number): string {
  const { key, crowd } = control.layout.rows[row]!;
  const peak = crowd ? peakOf(control.answers.crowds.get(key), control.span, control.data.whole) : 0;
  return peak > 0 ? `up to ${peak < 10 ? Math.round(peak * 10) / 10 : count(Math.round(peak))} at once` : "";
}

function choose(store: Store, sight: Sight, at: Focus): void {
  const { control, bands } = sight;
  const row = control.layout.rows[at.row];
  const found = bands && at.lane < 0 && row?.kind === "thread" ? bands.path(row.location, at.time) : undefined;
  if (found) return store.select({ path: found });
  const block = control.block(at);
  const region = block?.region ?? (at.lane < 0 ? control.cell(at)?.region : undefined);
  if (region === undefined || region === NONE) return;
  const path = block && control.path(at, block);
  store.select(path ? { path } : { region });
}

function click(store: Store, sight: Sight, point: Point): void {
  const { control } = sight;
  const at = control.hit(point.x, point.y);
  if (at.zone === "ruler") store.select({ begin: undefined, end: undefined });
  if (at.zone === "mini") control.dragTo(point, point, true, false);
  if (at.row < 0) return;
  control.focus = { row: at.row, lane: at.lane, time: at.time };
  if (at.zone === "rows") return choose(store, sight, at);
  const { picture } = sight.last;
  const more = picture && control.single === undefined ? moreOf(picture, at.row, moreShown(control)).find((one) => point.x >= one.x && point.x < one.x + one.width) : undefined;
  const row = control.layout.rows[at.row]!;
  if ((point.x < nameAt(row) || row.crowd) && control.openable(at.row)) control.toggle(at.row);
  else if (more) control.toggleMore(control.layout.rows[at.row]!.process, more.what);
  else if (control.layout.rows[at.row]!.kind === "thread") {
    const { location } = control.layout.rows[at.row]!;
    store.select({ location: store.selection.location === location ? undefined : location });
  }
}

function twice(control: Control, point: Point): void {
  const at = control.hit(point.x, point.y);
  const block = control.block(at);
  if (block) control.fit(block);
  else if (at.row >= 0 && at.zone === "rows") control.toggle(at.row);
}

function key(store: Store, sight: Sight, event: KeyboardEvent): boolean {
  const { control } = sight;
  if (event.ctrlKey || event.altKey || event.metaKey) return false;
  if (press(control, event.key)) return true;
  const { focus } = control;
  const block = focus && control.block(focus);
  switch (event.key) {
    case "Enter":
      if (focus && focus.lane < 0) control.toggle(focus.row);
      else if (focus) choose(store, sight, focus);
      return Boolean(focus);
    case "f":
    case "F":
      if (block) control.fit(block);
      else if (rangeOf(store.selection, control.data.whole)) control.fit(rangeOf(store.selection, control.data.whole)!);
      return true;
    case "r":
    case "R":
      store.select(block ? { begin: block.begin, end: block.end } : { begin: control.span.begin, end: control.span.end });
      return true;
    case "Escape": {
      const { begin, end, region } = store.selection;
      if (control.focus) control.focus = undefined;
      else if (begin !== undefined || end !== undefined) store.select({ begin: undefined, end: undefined });
      else if (region !== undefined) store.select({ region: undefined, path: undefined });
      return true;
    }
    default:
      return false;
  }
}

function Status({ sight }: { sight: Sight }) {
  const { control, last, bands } = sight;
  const { hidden } = last.messages;
  const more = hidden > 0 ? `${count(hidden)} more messages than lines: zoom in · ` : "";
  const { problem, withoutMessages } = control.data;
  return (
    <>
      {more}
      {withoutMessages ? `messages are not shown: ${withoutMessages} · ` : ""}
      {problem || bands?.problem ? `not all detail can be shown: ${problem || bands?.problem} · ` : control.data.busy || bands?.busy ? "reading… · " : ""}
      {time(length(control.span))} in view
    </>
  );
}

const HINT =
  "Pale: the thread waited. Click a bar to pin its details here. Wheel or W S zoom, drag or A D move, shift and drag or the ruler select a range of time (R: what is in view). Arrows go from call to call, Enter opens a row, T and K show threads and tasks, F shows a call in full, 0 the whole run.";

const ORDERS = [
  { value: "number", title: "By number" },
  { value: "time", title: "Longest first" },
  { value: "begin", title: "By begin" },
];
const isOrder = (text: string | undefined): text is Order => ORDERS.some(({ value }) => value === text);

/** The order of rows, which is kept in the selection, and whether crowds are folded. */
function Sorted({ control, redraw }: { control: Control; redraw: () => void }) {
  const store = useStore();
  const { part } = useSelection();
  const { facts, crowds } = control;
  if (control.single !== undefined || facts.locations.length <= MANY) return null;
  return (
    <>
      <Menu label="Order" value={isOrder(part) ? part : "number"} options={ORDERS} onChange={(order) => store.select({ part: order === "number" ? undefined : order })} />
      {crowds && (
        <button
          class="quiet"
          aria-pressed={!control.isUnfolded}
          title="Threads and processes with equal roles share a row, which a click or Enter opens"
          onClick={() => {
            control.unfold(!control.isUnfolded);
            redraw();
          }}
        >
          Fold groups
        </button>
      )}
    </>
  );
}

interface Props {
  facts: Facts;
  regions: Regions;
  single: number | undefined;
  bands: MakeBands | undefined;
  children?: ComponentChildren;
}

const MANY = 8; // threads above which their order can be chosen

/** Combines several calls before the next animation frame into one. */
function onceAFrame(act: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      act();
    });
  };
}

const NOTHING: Sight["last"] = { messages: { lines: [], hidden: 0 }, labels: [], picture: undefined };

/** The current state of the timeline. Of a later version of the run it is shown when all data of its picture have arrived. */
function useSight({ facts, regions, single, bands }: Props, source: Source, redraw: () => void): Sight {
  const store = useStore();
  const shown = useRef<Sight | undefined>(undefined);
  const made = useMemo((): Sight => {
    const soon = onceAFrame(redraw);
    const landed = (): void => {
      sight.stale = true;
      soon();
    };
    const data = new TimelineData(source, facts, landed);
    const first = rangeOf(store.selection, data.whole);
    const control = new Control(facts, data, [], single, first && clamp(first, data.whole));
    const sight: Sight = { facts, regions, control, bands: bands?.(source, facts, regions, data.whole, landed), filter: undefined, raster: new Raster(), last: NOTHING, pinned: "", stale: true };
    return sight;
  }, [facts, regions, single, bands, store]);
  shown.current ??= made;
  useEffect(
    () => () => {
      made.control.data.close();
      made.bands?.close();
    },
    [made],
  );
  useLayoutEffect(() => {
    const before = shown.current;
    if (!before || before === made) return;
    made.filter = before.filter;
    made.control.tasks = before.control.tasks;
    made.control.take(before.control);
    ask(made);
    if (!isComplete(made)) return;
    shown.current = made;
    redraw();
  });
  return shown.current;
}

function Sheet(props: Props) {
  const store = useStore();
  const selection = useSelection();
  const [version, redraw] = useReducer((n: number) => n + 1, 0) as [number, () => void];
  const sight = useSight(props, store.source, () => redraw());
  const { control, facts, regions } = sight;
  const visible = useVisible();
  const filter = useMemo(() => (visible === undefined || visible === "loading" ? visible : new FilteredCalls(visible)), [visible]);
  control.only = useRoleLocations();
  sight.filter = props.bands ? undefined : filter; // bands are no functions
  const sheet = useRef<HTMLDivElement>(null);
  const wanted = facts.has.tasks && facts.has.trace && props.single === undefined;
  const answer = useAnswer(wanted ? "tasks" : undefined, {}, asTasks);
  const tasks = answer.data;
  if (tasks) control.tasks = tasks;
  const colours = useColours(facts, regions, selection);
  const [path, showPath] = useState(false);
  const critical = useAnswer(path ? "critical" : undefined, {}, asParts).data;
  const draw = useMemo(
    () => (pen: CanvasRenderingContext2D, width: number, height: number) => {
      const { hidden } = sight.last.messages;
      paint(sight, colours, selection, path ? critical : undefined, pen, width, height);
      // texts outside of the picture have the number of messages, and the pinned element
      if (sight.last.messages.hidden !== hidden || spokenOf(sight, pinnedAt(sight)) !== sight.pinned) redraw();
    },
    [sight, sight.filter, colours, selection, version, tasks, path, critical],
  );
  useReport(() => reportOf(sight, selection, (wanted && answer.loading) || (path && !critical)));
  control.sortBy(isOrder(selection.part) ? selection.part : "number");
  control.follow();
  const pinned = pinnedAt(sight);
  const tip = tipAt(sight);
  const spoken = (sight.pinned = spokenOf(sight, pinned));
  return (
    <div class="timeline">
      <Toolbar status={<Status sight={sight} />}>
        {(
          [
            ["Whole run", "Show the whole run", "0"],
            ["+", "Zoom in", "+"],
            ["−", "Zoom out", "-"],
          ] as const
        ).map(([text, label, key]) => (
          <button
            key={key}
            class="quiet"
            aria-label={label}
            onClick={() => {
              press(control, key);
              redraw();
            }}
          >
            {text}
          </button>
        ))}
        {facts.has.waits && props.single === undefined && !props.bands && (
          <button class="quiet" aria-pressed={path} title="Show on which rank the length of the run depends at each time" onClick={() => showPath(!path)}>
            Critical path
          </button>
        )}
        <Sorted control={control} redraw={redraw} />
        {props.children}
      </Toolbar>
      <OneRun />
      {!props.bands && <Legend />}
      <div class="chart">
        <div class="sheet" ref={sheet}>
          <Canvas
            label={`Time line of ${count(control.layout.rows.length)} rows over ${time(facts.duration)}. ${HINT}`}
            spoken={spoken}
            draw={draw}
            title={gutterTitle(control)}
            cursor={control.drag?.kind === "pan" ? "grabbing" : control.hover?.zone === "ruler" ? "col-resize" : "default"}
            onSize={(width, height) => {
              Object.assign(control, { width, height });
              redraw();
            }}
            onPoint={(point) => {
              control.hover = { ...control.hit(point.x, point.y), clientX: point.clientX, clientY: point.clientY };
              redraw();
            }}
            onLeave={() => {
              control.hover = undefined;
              redraw();
            }}
            onClick={(point) => {
              click(store, sight, point);
              redraw();
            }}
            onDouble={(point) => {
              twice(control, point);
              redraw();
            }}
            onDrag={(from, to, done, event) => {
              const chosen = control.dragTo(from, to, done, event.shiftKey);
              if (chosen) store.select({ begin: chosen.begin, end: chosen.end });
              redraw();
            }}
            onWheel={(point, dx, dy, event) => {
              control.wheel(point.x, point.y, dx, dy, event.shiftKey);
              redraw();
              return true;
            }}
            onKey={(event) => {
              const used = key(store, sight, event);
              if (used) redraw();
              return used;
            }}
          />
          <Scrollbar
            top={control.top}
            height={control.layout.height}
            seen={control.height - control.top}
            at={control.scroll}
            onScroll={(at) => {
              control.setScroll(at);
              redraw();
            }}
          />
        </div>
        <Details
          pinned={pinned}
          regions={regions}
          hint={HINT}
          onUnpin={() => {
            control.focus = undefined;
            sheet.current?.querySelector("canvas")?.focus();
            redraw();
          }}
          onLeap={({ location, time: at }) => {
            control.goTo(location, at);
            if (control.focus) choose(store, sight, control.focus);
            redraw();
          }}
        />
      </div>
      {tip && <Tip sight={sight} at={control.hover!} shown={tip} />}
    </div>
  );
}

/** single: the only location to show, with its calls; bands: replace the functions in rows; children: shown above. */
export function Lines({ single, bands, children }: { single?: number | undefined; bands?: MakeBands; children?: ComponentChildren }) {
  const facts = useFacts();
  const regions = useRegions().data;
  if (!regions) return null;
  return (
    <Sheet key={single} facts={facts} regions={regions} single={single} bands={bands}>
      {children}
    </Sheet>
  );
}
