// SPDX-License-Identifier: BSD-3-Clause
// Memory: heap and resident size over time, allocations at the peak and at the end.
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { LEFT, colourOf, paintSheet, scaleOf } from "../draw/curvedraw";
import { extent, valueAt } from "../data/curves";
import type { Facts, Metric, Regions } from "../data/facts";
import { useAnswer, useDark, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { inksOf } from "../draw/ink";
import { type By, BYS, type Heap, type Memory, type Site, type What, WHATS, asMemory, curvesOf, heapCurves, heapOf, heapsOf, marksOf, sitesOf, words } from "../data/memory";
import { Canvas } from "../parts/Canvas";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { useStackRows } from "../state/stackrows";
import { placeName, processName, shortStack } from "../data/stacks";
import { type Span, length, moment } from "../data/timescale";
import { useChart } from "../charts/treechart";
import { byteUnit, bytes, count, inUnit, percent } from "../data/units";
import { Picture as Chart } from "./icicle";

interface PictureProps {
  memory: ReturnType<typeof asMemory>;
  heap: Heap;
  /** Processes whose heaps are drawn; empty: heap and resident size of the one process. */
  several: readonly Heap[];
}

function Picture({ memory, heap, several }: PictureProps) {
  const store = useStore();
  const facts = useFacts();
  const dark = useDark();
  const { theme, begin, end } = useSelection();
  const [cursor, move] = useState<number | undefined>(undefined);
  const width = useRef(0);
  const span: Span = useMemo(() => ({ begin: 0, end: Math.max(facts.duration, 1e-9) }), [facts]);
  const curves = useMemo(() => (several.length ? heapCurves(memory.columns, several) : curvesOf(memory.columns, heap)), [memory, heap, several]);
  const names = several.length ? several.map(({ process }) => processName(facts, process)) : ["heap", "resident"];
  const chosen: Span | undefined = useMemo(() => (begin === undefined && end === undefined ? undefined : { begin: begin ?? span.begin, end: end ?? span.end }), [begin, end, span]);
  const marks = useMemo(() => marksOf(heap, span), [heap, span]);
  const high = Math.max(extent(curves, span, false)[1], heap.peak_bytes, ...marks.level.map((level) => level.value)) || 1;
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, wide: number, tall: number) => {
      width.current = wide;
      paintSheet(pen, { curves, rates: false, span, low: 0, high, show: bytes, bytes: true, inks: inksOf(dark), focus: -1, cursor, chosen, marks }, wide, tall);
    },
    [curves, marks, span, chosen, dark, theme, cursor],
  );
  const at = cursor ?? heap.peak_time ?? span.end;
  const spoken = `At ${moment(at, length(span) / 1000)}: ${curves.map((curve, i) => `${names[i]} ${bytes(valueAt(curve, at))}`).join(", ")}`;
  return (
    <div class="split curves">
      <Canvas
        label="Memory over time. Left and right move along the time."
        spoken={spoken}
        draw={draw}
        cursor="crosshair"
        onPoint={(point) => move(point.x < LEFT ? undefined : Math.min(Math.max(scaleOf(span, width.current).time(point.x - LEFT), 0), span.end))}
        onLeave={() => move(undefined)}
        onDrag={(from, to, done) => {
          const time = (x: number): number => Math.min(Math.max(scaleOf(span, width.current).time(x - LEFT), 0), span.end);
          const [one, other] = [time(from.x), time(to.x)];
          move(other);
          // a range of time only affects other views if there is a trace or there are samples
          if (done && facts.has.time) store.select({ begin: Math.min(one, other), end: Math.max(one, other) });
        }}
        onKey={(event) => {
          if (event.key === "Escape" && chosen) {
            store.select({ begin: undefined, end: undefined });
            return true;
          }
          const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
          if (!step || event.ctrlKey || event.metaKey || event.altKey) return false;
          move(Math.min(Math.max(at + (step * length(span)) / 100, 0), span.end));
          return true;
        }}
      />
      <aside class="beside" aria-label="Lines">
        <h2>{several.length ? "Heap" : processName(facts, heap.process)}</h2>
        <p class="fine">{`At ${moment(at, length(span) / 1000)}`}</p>
        <ul class="legend">
          {curves.map((curve, i) => (
            <li key={names[i]}>
              <button disabled={!several.length} title={several.length ? `Show ${names[i]} alone` : undefined} onClick={() => store.select({ process: several[i]!.process })}>
                <i class="swatch" style={{ background: colourOf(i, dark) }} />
                {names[i]}
                <span class="number">{bytes(valueAt(curve, at))}</span>
              </button>
            </li>
          ))}
        </ul>
        {heap.limit && (
          <p class="fine">
            {`Limit of ${bytes(heap.limit.bytes)} resident: `}
            {heap.limit.passed === null ? "not passed" : `passed in ${heap.limit.function ?? "an unknown function"}${heap.limit.line ? `, line ${heap.limit.line}` : ""}`}
          </p>
        )}
      </aside>
    </div>
  );
}

interface SitesProps {
  memory: Memory;
  rows: readonly Site[];
  what: What;
  by: By;
  regions: Regions;
}

const inPath = (site: Site): boolean => site.path !== undefined;

function nameOf(facts: Facts, memory: Memory, site: Site): string {
  if (site.location !== undefined) return placeName(facts, site.location);
  if (site.path !== undefined) return shortStack(memory.stacks[site.path] ?? []);
  return (site.function ?? "(line not known)") + (site.within ? `, in ${site.within}` : "");
}

/** All call paths, weighted by a metric of memory. */
function Flame({ metric }: { metric: Metric }) {
  const { chart, problem } = useChart("module", metric);
  if (!chart) return <Waiting problem={problem} what="the call paths" />;
  if (!chart.tree.total) return <Empty title={`No ${metric.name} here`}>Clear the process or the thread above.</Empty>;
  return <Chart chart={chart} levels={Infinity} part />;
}

function Sites({ memory, rows, what, by, regions }: SitesProps) {
  const store = useStore();
  const facts = useFacts();
  const { bytes: key, blocks } = WHATS[what];
  const whole = memory.totals[key];
  const stack = (site: Site): string[] => (site.path === undefined ? [site.function ?? ""] : (memory.stacks[site.path] ?? []));
  const ofStack = useStackRows(regions, stack, (site) => (inPath(site) ? "callers" : "source"), inPath);
  const ofThread = { onSelect: (site: Site) => store.select({ location: site.location }, "replace"), selected: (site: Site) => site.location === store.selection.location };
  const unit = byteUnit((rows[0]?.[key] ?? 0) / 100); // a step finer, as most are much smaller than the largest
  const inBytes = (id: string, title: string, value: (site: Site) => number): RowColumn<Site> => ({ id, title, unit, width: "110px", value, cell: (s) => inUnit(value(s), unit, unit.size > 1 ? 1 : 0) });
  const columns: RowColumn<Site>[] = useMemo(
    () => [
      { id: "where", title: "Where", width: "minmax(220px, 1fr)", value: (s) => nameOf(facts, memory, s), full: (s) => stack(s).join("\n→ ") || nameOf(facts, memory, s) },
      ...(by === "lines"
        ? [
            { id: "line", title: "Line", width: "64px", value: (s: Site) => s.line ?? 0, cell: (s: Site) => (s.line ? String(s.line) : "–") },
            { id: "file", title: "File", width: "minmax(120px, 0.6fr)", value: (s: Site) => s.file ?? "" },
          ]
        : []),
      { ...inBytes("bytes", "Bytes", (s) => s[key]), bar: (s) => s[key] / rows[0]![key] },
      { id: "share", title: "Share", width: "76px", value: (s) => s[key], cell: (s) => percent(s[key] / whole) },
      { id: "blocks", title: "Blocks", width: "92px", value: (s) => s[blocks], cell: (s) => count(s[blocks]) },
      ...(what === "left"
        ? [
            { ...inBytes("growing", "Kept growing", (s) => s.growing_bytes), hint: "Became ever more until the end", width: "136px" },
            { ...inBytes("cache", "Soon complete", (s) => s.cache_bytes), hint: "Allocated in a short time, as by a cache", width: "136px" },
          ]
        : []),
    ],
    [memory, rows, what, by],
  );
  return (
    <Rows
      key={`${what} ${by}`}
      label={`${WHATS[what].title}, by ${BYS[by].one}`}
      rows={rows}
      columns={columns}
      by="bytes"
      {...(by === "threads" ? ofThread : ofStack)}
    />
  );
}

export function MemoryView() {
  const facts = useFacts();
  const { process, location } = useSelection();
  const answer = useAnswer("memory", { process: facts.file ? undefined : process }, asMemory);
  const regions = useRegions();
  const [what, setWhat] = useState<What>("peak");
  const [by, setBy] = useState<By>("lines");
  const memory = answer.data;
  const heap = memory && heapOf(memory, process);
  const several = useMemo(() => (memory && process === undefined && memory.processes.length > 1 ? heapsOf(memory) : []), [memory, process]);
  const rows = useMemo(() => (memory ? sitesOf(memory, what, by) : []), [memory, what, by]);
  useReport(() => ({
    ready: !answer.loading && Boolean(regions.data),
    heap: heap && { process: heap.process, peak: heap.peak_bytes, points: heap.rows[1] - heap.rows[0], limit: heap.limit?.bytes },
    totals: memory?.totals,
    rows: memory && rows.slice(0, 20).map((site) => [nameOf(facts, memory, site), site.line ?? null, site[WHATS[what].bytes], site[WHATS[what].blocks]]),
    notes: memory?.notes,
  }));
  if (!memory || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the memory" />;
  const hidden = { lines: memory.hidden[0], paths: memory.hidden[1], threads: memory.hidden[2], flame: 0 }[by];
  const metric = facts.metrics.find(({ name }) => name === WHATS[what].metric);
  return (
    <>
      <Toolbar status={heap && words(memory, heap)}>
        <Choice label="What" value={what} options={Object.entries(WHATS).map(([value, { title, hint }]) => ({ value, title, hint }))} onChange={(value) => setWhat(value as What)} />
        <Choice label="By" value={by} options={Object.entries(BYS).map(([value, { title }]) => ({ value, title }))} onChange={(value) => setBy(value as By)} />
      </Toolbar>
      <WholeRun what="Numbers of memory" ranks={facts.file || location !== undefined} />
      {memory.notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {hidden > 0 && <p class="note">{`${count(hidden)} ${BYS[by].one}s with less are not listed; spartito report memory --limit 0 lists them.`}</p>}
      <div class="halves upper">{heap ? <Picture memory={memory} heap={heap} several={several} /> : <Empty title="Memory of this process was not recorded">Clear the process above.</Empty>}</div>
      <div class="halves">
        <div class="pane">
          {by === "flame" && metric ? <Flame metric={metric} /> : <Sites memory={memory} rows={rows} what={what} by={by} regions={regions.data} />}
        </div>
      </div>
    </>
  );
}
