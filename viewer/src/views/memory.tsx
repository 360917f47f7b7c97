// SPDX-License-Identifier: BSD-3-Clause
// Memory: the heap and the resident size over time, what was live at the peak, and what is left at the end.
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { LEFT, colourOf, paintSheet, scaleOf } from "../curvedraw";
import { extent, valueAt } from "../curves";
import type { Regions } from "../facts";
import { recordBy } from "../facts";
import { useAnswer, useDark, useFacts, useRegions, useReport, useSelection } from "../hooks";
import { inksOf } from "../ink";
import { type Heap, type Memory, type Site, type What, WHATS, asMemory, curvesOf, heapOf, marksOf, sitesOf, words } from "../memory";
import { Canvas } from "../parts/Canvas";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { useStackRows } from "../stackrows";
import { processName, shortStack } from "../stacks";
import { type Span, length, moment } from "../timescale";
import { bytes, count, percent } from "../units";
import "../views.css";
import type { View } from "./view";

const NAMES = ["heap", "resident"];

function Picture({ memory, heap }: { memory: ReturnType<typeof asMemory>; heap: Heap }) {
  const facts = useFacts();
  const dark = useDark();
  const { theme } = useSelection();
  const [cursor, move] = useState<number | undefined>(undefined);
  const width = useRef(0);
  const span: Span = useMemo(() => ({ begin: 0, end: Math.max(facts.duration, 1e-9) }), [facts]);
  const curves = useMemo(() => curvesOf(memory.columns, heap), [memory, heap]);
  const marks = useMemo(() => marksOf(heap, span), [heap, span]);
  const high = Math.max(extent(curves, span, false)[1], heap.peak_bytes, ...marks.level.map((level) => level.value)) || 1;
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, wide: number, tall: number) => {
      width.current = wide;
      paintSheet(pen, { curves, rates: false, span, low: 0, high, show: bytes, inks: inksOf(dark), focus: -1, cursor, chosen: undefined, marks }, wide, tall);
    },
    [curves, marks, span, dark, theme, cursor],
  );
  const at = cursor ?? heap.peak_time ?? span.end;
  const spoken = `At ${moment(at, length(span) / 1000)}: ${curves.map((curve, i) => `${NAMES[i]} ${bytes(valueAt(curve, at))}`).join(", ")}`;
  return (
    <div class="split curves">
      <Canvas
        label="Memory over time. Left and right move along the time."
        spoken={spoken}
        draw={draw}
        cursor="crosshair"
        onPoint={(point) => move(point.x < LEFT ? undefined : Math.min(Math.max(scaleOf(span, width.current).time(point.x - LEFT), 0), span.end))}
        onLeave={() => move(undefined)}
        onKey={(event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
          if (!step || event.ctrlKey || event.metaKey || event.altKey) return false;
          move(Math.min(Math.max(at + (step * length(span)) / 100, 0), span.end));
          return true;
        }}
      />
      <aside class="beside" aria-label="Lines">
        <h2>{processName(facts, heap.process)}</h2>
        <p class="fine">{`At ${moment(at, length(span) / 1000)}`}</p>
        <ul class="legend">
          {curves.map((curve, i) => (
            <li key={NAMES[i]}>
              <button disabled>
                <i class="swatch" style={{ background: colourOf(i, dark) }} />
                {NAMES[i]}
                <span class="number">{bytes(valueAt(curve, at))}</span>
              </button>
            </li>
          ))}
        </ul>
        {heap.limit && (
          <p class="fine">
            {`Limit of ${bytes(heap.limit.bytes)} resident: `}
            {heap.limit.passed === null ? "not passed" : `passed in ${heap.limit.function ?? "a place that is not known"}${heap.limit.line ? `, line ${heap.limit.line}` : ""}`}
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
  regions: Regions;
}

const inPath = (site: Site): boolean => site.path !== undefined;
const nameOf = (memory: Memory, site: Site): string => (site.path === undefined ? (site.function ?? "(line not known)") : shortStack(memory.stacks[site.path] ?? []));

function Sites({ memory, rows, what, regions }: SitesProps) {
  const { bytes: key, blocks } = WHATS[what];
  const whole = memory.totals[key];
  const stack = (site: Site): string[] => (site.path === undefined ? [site.function ?? ""] : (memory.stacks[site.path] ?? []));
  const columns: RowColumn<Site>[] = useMemo(
    () => [
      { id: "where", title: "Where", width: "minmax(220px, 1fr)", value: (s) => nameOf(memory, s), full: (s) => stack(s).join("\n→ ") },
      ...(rows[0]?.path === undefined
        ? [
            { id: "line", title: "Line", width: "64px", value: (s: Site) => s.line ?? 0, cell: (s: Site) => (s.line ? String(s.line) : "–") },
            { id: "file", title: "File", width: "minmax(120px, 0.6fr)", value: (s: Site) => s.file ?? "" },
          ]
        : []),
      { id: "bytes", title: "Bytes", width: "110px", value: (s) => s[key], cell: (s) => bytes(s[key]), bar: (s) => s[key] / rows[0]![key] },
      { id: "share", title: "Share", width: "76px", value: (s) => s[key], cell: (s) => percent(s[key] / whole) },
      { id: "blocks", title: "Blocks", width: "92px", value: (s) => s[blocks], cell: (s) => count(s[blocks]) },
      ...(what === "left"
        ? [
            { id: "growing", title: "Kept growing", hint: "Became ever more until the end", width: "110px", value: (s: Site) => s.growing_bytes, cell: (s: Site) => bytes(s.growing_bytes) },
            { id: "cache", title: "Soon complete", hint: "Came in a short time, as what a cache keeps", width: "110px", value: (s: Site) => s.cache_bytes, cell: (s: Site) => bytes(s.cache_bytes) },
          ]
        : []),
    ],
    [memory, rows, what],
  );
  return (
    <Rows
      key={`${what} ${rows[0]?.path === undefined}`}
      label={`${WHATS[what].title}, by ${rows[0]?.path === undefined ? "line" : "call path"}`}
      rows={rows}
      columns={columns}
      by="bytes"
      {...useStackRows(regions, stack, (site) => (inPath(site) ? "callers" : "source"), inPath)}
    />
  );
}

function MemoryView() {
  const facts = useFacts();
  const { process, location } = useSelection();
  const answer = useAnswer("memory", { process: facts.file ? undefined : process }, asMemory);
  const regions = useRegions();
  const [what, setWhat] = useState<What>("peak");
  const [by, setBy] = useState<"lines" | "paths">("lines");
  const memory = answer.data;
  const heap = memory && heapOf(memory, process);
  const rows = useMemo(() => (memory ? sitesOf(memory, what, by) : []), [memory, what, by]);
  useReport(() => ({
    ready: !answer.loading && Boolean(regions.data),
    heap: heap && { process: heap.process, peak: heap.peak_bytes, points: heap.rows[1] - heap.rows[0], limit: heap.limit?.bytes },
    totals: memory?.totals,
    rows: memory && rows.slice(0, 20).map((site) => [nameOf(memory, site), site.line ?? null, site[WHATS[what].bytes], site[WHATS[what].blocks]]),
    notes: memory?.notes,
  }));
  if (!memory || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the memory" />;
  const hidden = memory.hidden[by === "lines" ? 0 : 1];
  return (
    <>
      <Toolbar says={heap && words(memory, heap)}>
        <Choice label="What" value={what} options={Object.entries(WHATS).map(([value, { title, hint }]) => ({ value, title, hint }))} onChange={(value) => setWhat(value as What)} />
        <Choice label="By" value={by} options={[{ value: "lines", title: "Lines" }, { value: "paths", title: "Call paths" }]} onChange={(value) => setBy(value as "lines" | "paths")} />
      </Toolbar>
      <WholeRun what="Numbers of memory" ranks={facts.file || location !== undefined} />
      {memory.notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {hidden > 0 && <p class="note">{`${count(hidden)} ${by === "lines" ? "lines" : "call paths"} with less are not listed; spartito report --memory --limit 0 lists them.`}</p>}
      <div class="halves upper">{heap ? <Picture memory={memory} heap={heap} /> : <Empty title="Memory of this process was not recorded">Clear the process above.</Empty>}</div>
      <div class="halves">
        <div class="pane">
          <Sites memory={memory} rows={rows} what={what} regions={regions.data} />
        </div>
      </div>
    </>
  );
}

export const memory: View = {
  id: "memory",
  title: "Memory",
  available: (facts) => facts.has.memory || `Memory was not recorded: ${recordBy(facts, "--memory-profile")} records it, --memory-sample 512K at a lower cost.`,
  component: MemoryView,
  keys: [["← →  Page Up  Page Down", "along the time"]],
};
