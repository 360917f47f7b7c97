// SPDX-License-Identifier: BSD-3-Clause
// Metrics and counters over time: their growth or their value, for each thread or as a sum.
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { NONE } from "../data/columns";
import { type Curve, MAX_CURVES, PIXELS, counterCurves, evened, extent, metricCurves, metricParams, rateAt, sumOf, valueAt } from "../data/curves";
import { colourOf, LEFT, paintSheet, scaleOf } from "../draw/curvedraw";
import type { Facts, Metric } from "../data/facts";
import { useDark, useFacts, useQuery, useReport, useSelection, useStore } from "../state/hooks";
import { inksOf } from "../draw/ink";
import { Canvas } from "../parts/Canvas";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Menu, Toolbar } from "../parts/Menu";
import { Name } from "../parts/Name";
import { locationLabel } from "../data/rows";
import type { Selection } from "../state/store";
import { length, moment, range, type Span } from "../data/timescale";
import { amount, count, percent } from "../data/units";
import { amountOf, rateOf } from "../data/weight";

const LISTED = 40; // maximum of lines in the legend

/** A metric or counter to draw. */
interface Subject {
  key: string;
  title: string;
  what: string;
  metric?: Metric;
}

function subjectsOf(facts: Facts, counters: readonly string[]): Subject[] {
  const known = facts.metrics.filter((metric) => !metric.exclusive).map((metric) => ({ key: `m:${metric.name}`, title: metric.name, what: metric.what, metric }));
  return [...known, ...counters.map((name) => ({ key: `c:${name}`, title: name, what: "a counter of the program" }))];
}

function rangeOf({ begin, end }: Selection, whole: Span): Span {
  return range(begin ?? whole.begin, end ?? whole.end, whole) ?? whole;
}

const selects = (facts: Facts, { process, location }: Selection) => (at: number): boolean =>
  at === NONE || ((location === undefined || at === location) && (process === undefined || facts.locations[at]?.process === process));

/** Queries the whole run without begin and end, and all threads at once, as the one-file page contains these answers. */
function useColumns(facts: Facts, selection: Selection) {
  const { process, location } = selection;
  const { begin, end } = facts.file ? { begin: undefined, end: undefined } : selection;
  const many = facts.locations.length > MAX_CURVES && !facts.file;
  const span = { begin, end, ...(many && { process, location }) };
  const metrics = useQuery(facts.has.metrics ? "metrics" : undefined, metricParams(facts, span));
  const counters = useQuery(facts.has.counters ? "counters" : undefined, { begin, end, pixels: PIXELS });
  return { metrics, counters };
}

interface Lines {
  curves: Curve[];
  rates: boolean;
  low: number;
  high: number;
  show: (value: number) => string;
  bytes: boolean;
  /** The label of the axis at the left. */
  axis: string;
}

function linesOf(subject: Subject, all: readonly Curve[], span: Span, together: boolean, grown: boolean): Lines {
  const { metric } = subject;
  const rates = metric !== undefined && !metric.level && !grown;
  const sum = together ? sumOf(all, span, metric?.level ?? false) : undefined;
  const curves = sum ? [sum] : rates ? all.map((curve) => evened(curve, span)) : [...all];
  const [low, high] = extent(curves, span, rates);
  const show = (value: number): string => (metric ? (rates ? rateOf(metric, value) : amountOf(metric, value)) : amount(value, ""));
  const axis = !metric ? "value" : rates ? (metric.unit === "s" ? "seconds per second" : "per second") : metric.level ? "reached" : "since the thread began";
  return { curves, rates, low, high: high > low ? high : low + 1, show, bytes: !rates && (metric?.unit === "bytes" || metric?.unit === "B"), axis };
}

const nameOf = (facts: Facts, location: number): string => (location === NONE ? "all together" : locationLabel(facts, location));

const numberAt = (lines: Lines, curve: Curve, at: number): string => lines.show(lines.rates ? rateAt(curve, at) : valueAt(curve, at));

/** The growth of a line within the span. */
const growth = (curve: Curve, span: Span): number => valueAt(curve, span.end) - valueAt(curve, span.begin);

function Legend({ lines, span, cursor, focus, setFocus }: { lines: Lines; span: Span; cursor: number | undefined; focus: number; setFocus: (line: number) => void }) {
  const store = useStore();
  const facts = useFacts();
  const dark = useDark();
  const selection = useSelection();
  const shown = lines.curves.slice(0, LISTED);
  return (
    <aside class="beside" aria-label="Lines">
      <h2>{cursor === undefined ? "Lines" : `At ${moment(cursor, length(span) / 1000)}`}</h2>
      <ul class="legend">
        {shown.map((curve, i) => (
          <li key={curve.location} class={i === focus ? "on" : ""} onMouseEnter={() => setFocus(i)} onMouseLeave={() => setFocus(-1)}>
            <button
              disabled={curve.location === NONE}
              title={nameOf(facts, curve.location)}
              onClick={() => store.select({ location: selection.location === curve.location ? undefined : curve.location })}
            >
              <i class="swatch" style={{ background: colourOf(i, dark) }} />
              <Name text={nameOf(facts, curve.location)} />
              <span class="number">{cursor === undefined ? "" : numberAt(lines, curve, cursor)}</span>
            </button>
          </li>
        ))}
      </ul>
      {lines.curves.length > LISTED && <p class="fine">and {count(lines.curves.length - LISTED)} more lines</p>}
    </aside>
  );
}

interface SheetProps {
  subject: Subject;
  lines: Lines;
  span: Span;
  whole: Span;
}

function key(event: KeyboardEvent, cursor: number, span: Span, move: (to: number | undefined) => void, line: (by: number) => void): boolean {
  const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (step) move(Math.min(Math.max(cursor + (step * length(span)) / 100, span.begin), span.end));
  else if (event.key === "Home") move(span.begin);
  else if (event.key === "End") move(span.end);
  else if (event.key === "ArrowUp" || event.key === "ArrowDown") line(event.key === "ArrowUp" ? -1 : 1);
  else return false;
  return true;
}

function Picture({ subject, lines, span, whole }: SheetProps) {
  const store = useStore();
  const facts = useFacts();
  const dark = useDark();
  const { theme } = useSelection();
  const [cursor, move] = useState<number | undefined>(undefined);
  const [focus, setFocus] = useState(-1);
  const [chosen, choose] = useState<Span | undefined>(undefined);
  const width = useRef(0);
  const time = (x: number): number => Math.min(Math.max(scaleOf(span, width.current).time(x - LEFT), span.begin), span.end);
  const draw = useCallback(
    (pen: CanvasRenderingContext2D, wide: number, high: number) => {
      width.current = wide;
      paintSheet(pen, { ...lines, span, inks: inksOf(dark), focus, cursor, chosen }, wide, high);
    },
    [lines, span, dark, theme, focus, cursor, chosen],
  );
  const at = cursor ?? (span.begin + span.end) / 2;
  const line = lines.curves[Math.max(focus, 0)];
  const spoken = line ? `${subject.title}, ${nameOf(facts, line.location)}, at ${moment(at, length(span) / 1000)}: ${numberAt(lines, line, at)}` : "";
  return (
    <div class="split curves">
      <Canvas
        label={`${subject.title} over time. Left and right move along the time, up and down go through ${count(lines.curves.length)} lines, Enter selects a thread, a drag selects a range of time, Escape clears it.`}
        spoken={spoken}
        draw={draw}
        cursor="crosshair"
        onPoint={(point) => move(point.x < LEFT ? undefined : time(point.x))}
        onLeave={() => move(undefined)}
        onDrag={(from, to, done) => {
          const [a, b] = [time(from.x), time(to.x)];
          const now = { begin: Math.min(a, b), end: Math.max(a, b) };
          choose(done ? undefined : now);
          const kept = done ? range(now.begin, now.end, whole) : undefined;
          if (kept) store.select(kept);
        }}
        onKey={(event) => {
          if (event.key === "Enter" && line && line.location !== NONE) return store.select({ location: line.location }), true;
          if (event.key === "Escape") return store.select({ begin: undefined, end: undefined, location: undefined }), true;
          return key(event, at, span, move, (by) => setFocus(Math.min(Math.max(focus + by, 0), lines.curves.length - 1)));
        }}
      />
      <Legend lines={lines} span={span} cursor={cursor} focus={focus} setFocus={setFocus} />
    </div>
  );
}

function reported(subject: Subject, lines: Lines, span: Span, facts: Facts) {
  return {
    ready: true,
    subject: subject.title,
    rates: lines.rates,
    span,
    low: lines.low,
    high: lines.high,
    lines: lines.curves.map((curve) => ({
      name: nameOf(facts, curve.location),
      location: curve.location === NONE ? null : curve.location,
      at: Array.from(curve.at),
      value: Array.from(curve.value),
      rate: curve.rate && Array.from(curve.rate),
      growth: growth(curve, span),
    })),
  };
}

function status(subject: Subject, lines: Lines, span: Span): string {
  const { metric } = subject;
  const sum = lines.curves.reduce((all, curve) => all + growth(curve, span), 0);
  if (!metric || metric.level) return `${lines.show(lines.low)} to ${lines.show(lines.high)}`;
  const share = metric.unit === "s" && length(span) > 0 ? `, ${percent(sum / length(span))} of a processor` : "";
  return `${amountOf(metric, sum)} in ${moment(length(span), length(span) / 1000)}${share}`;
}

function useSubject(facts: Facts, counters: readonly string[]) {
  const { metric } = useSelection();
  const subjects = useMemo(() => subjectsOf(facts, counters), [facts, counters.join("\n")]);
  const [picked, pick] = useState<string | undefined>(undefined);
  const wanted = picked ?? (metric === undefined ? undefined : `m:${metric}`);
  const most = subjects.find(({ metric: one }) => one && !one.level && one.total > 0);
  return { subjects, pick, subject: subjects.find((one) => one.key === wanted) ?? most ?? subjects[0] };
}

export function MetricsView() {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  const { metrics, counters } = useColumns(facts, selection);
  const { subjects, subject, pick } = useSubject(facts, counters.data?.meta.names ?? []);
  const [grown, setGrown] = useState("rate");
  const [lines, setLines] = useState("each");
  const whole = useMemo(() => ({ begin: 0, end: Math.max(facts.duration, 1e-9) }), [facts]);
  const { begin, end, process, location } = selection;
  const span = useMemo(() => rangeOf(selection, whole), [begin, end, whole]);
  const answer = subject?.metric ? metrics : counters;
  const all = useMemo(() => {
    if (!subject) return undefined;
    const { metric, title } = subject;
    const curves = metric
      ? metrics.data && metricCurves(metrics.data, metric, facts.metrics.indexOf(metric))
      : counters.data && counterCurves(counters.data, title);
    return curves?.filter((curve) => selects(facts, selection)(curve.location));
  }, [subject, answer.data, process, location]);
  const shown = useMemo(() => subject && all && linesOf(subject, all, span, lines === "sum", grown === "grown"), [subject, all, span, lines, grown]);
  useReport(() => (subject && shown && !answer.loading ? reported(subject, shown, span, facts) : { ready: answer.problem !== undefined }));
  const problem = answer.problem ?? (subject ? undefined : (metrics.problem ?? counters.problem));
  if (!subject || !shown) return <Waiting problem={problem} what="the metrics" />;
  const rates = subject.metric !== undefined && !subject.metric.level;
  return (
    <>
      <Toolbar status={status(subject, shown, span)}>
        <Menu
          label="Show"
          value={subject.key}
          options={subjects.map((one) => ({ value: one.key, title: one.title, hint: one.what }))}
          onChange={(value) => {
            pick(value);
            store.select({ metric: value.startsWith("m:") ? value.slice(2) : undefined }, "replace");
          }}
        />
        {rates && (
          <Choice
            label="Numbers"
            value={grown}
            options={[
              { value: "rate", title: "Per second", hint: "How fast it grows" },
              { value: "grown", title: "Sum", hint: "Sum since the thread began" },
            ]}
            onChange={setGrown}
          />
        )}
        {all!.length > 1 && (
          <Choice
            label="Lines"
            value={lines}
            options={[
              { value: "each", title: "Each thread" },
              { value: "sum", title: subject.metric?.level ? "The largest" : "Their sum" },
            ]}
            onChange={setLines}
          />
        )}
        <span class="soft">{`${subject.what}, ${shown.axis}`}</span>
      </Toolbar>
      {facts.locations.length > MAX_CURVES && subject.metric && (
        <p class="note">
          {facts.file
            ? `The sum of all ${count(facts.locations.length)} threads, whatever is selected: this file has no separate lines.`
            : `The sum over the selection: ${count(facts.locations.length)} threads are too many for separate lines. Select one thread to see its line.`}
        </p>
      )}
      {shown.curves.length ? (
        <Picture key={subject.key} subject={subject} lines={shown} span={span} whole={whole} />
      ) : (
        <Empty title={`No values of ${subject.title} here`}>Clear the process or the thread above, or choose another metric.</Empty>
      )}
    </>
  );
}
