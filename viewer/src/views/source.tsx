// SPDX-License-Identifier: BSD-3-Clause
// The source with the time of each line; without recorded lines, the source of the selected function.
import type { ComponentChildren } from "preact";
import { useContext, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { PaintChoice, Uncompared, usePaint } from "../parts/against";
import { type Measure, both, change, changeOf } from "../data/change";
import { css, ofChange, ofHeat } from "../draw/colour";
import type { Columns } from "../data/columns";
import { type Facts, type Regions, recordBy } from "../data/facts";
import { asFlat, Flat, sorted } from "../data/flat";
import { type BaseLines, type HeatLine, type LineFunction, endOfBlock, heatLines, timeOf } from "../data/heat";
import { useAnswer, useDark, useFacts, useQuery, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { useHighlighted } from "../state/highlighted";
import { Empty, Waiting } from "../parts/Empty";
import { Syntax } from "../parts/syntax";
import { Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { type Column, ROW, VirtualTable } from "../parts/VirtualTable";
import { WholeRun } from "../parts/WholeRun";
import { range } from "../state/store";
import { type Unit, count, inUnit, percent, time, timeUnit } from "../data/units";

const NONE: LineFunction[] = [];
interface Recorded {
  functions: LineFunction[];
  /** Why there are no lines of the other run. */
  none: string | undefined;
}
const asRecorded = ({ meta }: Columns<"lines">): Recorded => ({ functions: meta.functions, none: meta.base_none });

/** The selected function, or the one with the most time in its lines, or the most running time. */
interface Place {
  file: string;
  line: number;
  name: string;
}

/** Files whose name is "<…>" have no source. */
function topWithSource(flat: Flat, regions: Regions): number | undefined {
  const order = sorted(flat.region.map((_, row) => row), flat.self, true);
  const top = order.find((row) => /^[^<]/.test(regions.placeOf(flat.region[row]!)));
  return top === undefined ? undefined : flat.region[top];
}

function placeOf(regions: Regions, region: number | undefined, functions: readonly LineFunction[], flat: Flat | undefined): Place | undefined {
  if (region === undefined && !functions.length && flat) region = topWithSource(flat, regions);
  if (region !== undefined && regions.names[region] !== undefined) {
    const file = regions.files[regions.file[region]!] ?? "";
    return { file, line: regions.line[region]!, name: regions.names[region]! };
  }
  const hottest = functions.reduce<LineFunction | undefined>((best, f) => (best && timeOf(best) >= timeOf(f) ? best : f), undefined);
  return hottest && { file: hottest.file, line: hottest.line, name: hottest.name };
}

/** The region of a function with lines; undefined: it is not in the list of regions. */
function regionOf(regions: Regions, f: LineFunction): number | undefined {
  const same = regions.names.findIndex(
    (name, i) => name === f.name && regions.line[i] === f.line && regions.files[regions.file[i]!] === f.file,
  );
  return same < 0 ? undefined : same;
}

const changeIn = (line: HeatLine) => ({ now: timeOf(line), before: line.before ?? 0 });

function heatOf(lines: readonly HeatLine[], paint: "module" | Measure, dark: boolean): (line: HeatLine) => { background?: string } {
  if (paint === "module") return ({ share }) => (share > 0 ? { background: css(ofHeat(share, dark)) } : {});
  const most = lines.reduce((largest, line) => Math.max(largest, line.before === undefined ? 0 : Math.abs(changeIn(line).now - line.before)), 0);
  return (line) => (line.before === undefined ? {} : { background: css(ofChange(change(changeIn(line).now, line.before, paint, most), dark)) });
}

function beforeColumns(lines: readonly HeatLine[], unit: Unit): Column[] {
  const cell = (text: (line: HeatLine) => string) => (i: number) => (lines[i]!.before === undefined ? "" : text(lines[i]!));
  return [
    { id: "before", title: "Before", unit: unit.name, hint: "Total in the other run", width: "96px", fixed: true, cell: cell((l) => inUnit(l.before!, unit)) },
    {
      id: "change",
      title: "Change",
      unit: "%",
      hint: "Total, against the other run",
      width: "92px",
      fixed: true,
      cell: cell((l) => changeOf(changeIn(l))),
      full: cell((l) => both(time, changeIn(l))),
    },
  ];
}

function columnsOf(lines: readonly HeatLine[], coloured: ComponentChildren[] | undefined, paint: "module" | Measure, dark: boolean): Column[] {
  const unit = timeUnit(lines.reduce((most, l) => Math.max(most, timeOf(l)), 0));
  const number = (text: (line: HeatLine) => string) => (i: number) => (lines[i]!.of < 0 ? "" : text(lines[i]!));
  const compared = lines.some((line) => line.before !== undefined);
  const painted = heatOf(lines, compared ? paint : "module", dark);
  const heat = (i: number) => painted(lines[i]!);
  return [
    { id: "line", title: "Line", width: "64px", fixed: true, cell: (i) => <span class="soft">{lines[i]!.line}</span> },
    { id: "hits", title: "Hits", width: "84px", fixed: true, cell: number((l) => count(l.hits)) },
    { id: "excl", title: "Self", unit: unit.name, hint: "In the line itself", width: "96px", fixed: true, cell: number((l) => inUnit(l.excl, unit)) },
    {
      id: "callees",
      title: "Callees",
      unit: unit.name,
      hint: "In the functions that the line called",
      width: "104px",
      fixed: true,
      cell: number((l) => inUnit(l.callees, unit)),
    },
    {
      id: "share",
      title: "Of function",
      unit: "%",
      hint: "Total of the line, of the total of its function",
      width: "124px",
      fixed: true,
      cell: (i) => (
        <>
          <i class="heat" style={heat(i)} />
          <b class="on-heat">{lines[i]!.of < 0 ? "" : percent(lines[i]!.share)}</b>
        </>
      ),
    },
    ...(compared ? beforeColumns(lines, unit) : []),
    {
      id: "text",
      title: "Source",
      width: "minmax(320px, 1fr)",
      left: true,
      fixed: true,
      // a line of source loses its end, not its middle
      cell: (i) => <span class="code">{lines[i]!.text === undefined ? <span class="soft">…</span> : (coloured?.[i] ?? lines[i]!.text)}</span>,
    },
  ];
}

const MOST_GONE = 3; // maximum of named lines

function goneText({ gone }: BaseLines): string {
  if (!gone.length) return "";
  const sum = gone.reduce((all, [, , excl, callees]) => all + excl + callees, 0);
  const longest = [...gone].sort((a, b) => b[2] + b[3] - a[2] - a[3]).slice(0, MOST_GONE);
  const named = longest.map(([line, , excl, callees, text]) => `${line} ${text ? `“${text}” ` : ""}(${time(excl + callees)})`).join(", ");
  const more = gone.length > MOST_GONE ? `, ${count(gone.length - MOST_GONE)} more` : "";
  return ` Of it ${gone.length === 1 ? "a line that is" : `${count(gone.length)} lines that are`} not here took ${time(sum)}: ${named}${more}.`;
}

/** A note on how lines were matched, and lines without counterpart. */
function Before({ of, none }: { of: LineFunction; none: string | undefined }) {
  const { base, file, name } = of;
  if (!base) return none ? <Uncompared problem={none} /> : <p class="note">Lines of this function were not recorded in the other run.</p>;
  const there = [base.name !== name && base.name, base.file !== file && base.file].filter(Boolean).join(" in ");
  const by = base.by === "text" ? "the same by their text" : "the same by their distance from the function's first line";
  return (
    <p class="note">
      {`In the other run${there ? ` (${there})` : ""} its lines took ${time(timeOf(base))}; lines are ${by}.${goneText(base)}`}
    </p>
  );
}

/** What to do if lines or source text are missing. */
function advice(facts: Facts, missing: string | undefined, recorded: boolean): string {
  const record = recordBy(facts, "--lines FUNCTION");
  const lines = recorded ? "" : `Times of single lines come with ${record}.`;
  const text = missing ? `The source is kept with ${record} without --no-source, and shown while the file is unchanged on this machine.` : "";
  return [lines, text].filter(Boolean).join(" ");
}

function Listing({ lines, place, paint }: { lines: readonly HeatLine[]; place: Place; paint: "module" | Measure }) {
  const dark = useDark();
  const order = useMemo(() => Uint32Array.from(lines.keys()), [lines]);
  const syntax = useContext(Syntax);
  const coloured = useMemo(() => syntax(place.file, lines.map(({ text }) => text)), [lines, syntax]);
  const columns = useMemo(() => columnsOf(lines, coloured, paint, dark), [lines, coloured, paint, dark]);
  const first = lines.findIndex((l) => l.line >= place.line);
  const end = lines.some((l) => l.text !== undefined) ? endOfBlock(lines, place.line) : 0;
  const inside = (i: number): boolean => place.line > 0 && lines[i]!.line >= place.line && lines[i]!.line <= end;
  const pane = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // scrollIntoView would show the line at the lower end
    const table = pane.current?.querySelector(".table");
    if (table && first >= 0) table.scrollTop = Math.max(0, first - 2) * ROW;
  }, [lines, place.line]);
  return (
    <div class="pane wide source" ref={pane}>
      <VirtualTable
        label={`Source of ${place.file}`}
        order={order}
        columns={columns}
        selected={place.line > 0 && first >= 0 ? first : undefined}
        rowClass={(i) => (inside(i) ? "own" : "")}
      />
    </div>
  );
}

function Functions({ functions, place, regions }: { functions: readonly LineFunction[]; place: Place | undefined; regions: Regions }) {
  const store = useStore();
  const highlighted = useHighlighted();
  const stays = (f: LineFunction): boolean => {
    const region = regionOf(regions, f);
    return !highlighted || (region !== undefined && highlighted[region] === 1);
  };
  const most = functions.reduce((longest, f) => Math.max(longest, timeOf(f)), 0);
  const columns: RowColumn<LineFunction>[] = useMemo(
    () => [
      { id: "name", title: "Function with lines", width: "minmax(120px, 1fr)", value: (f) => f.name, full: (f) => `${f.name}\n${f.file}:${f.line}` },
      { id: "incl", title: "Total", width: "96px", time: true, value: timeOf, bar: (f) => timeOf(f) / most },
    ],
    [functions],
  );
  return (
    <div class="side left">
      <Rows
        label="Functions whose lines were recorded"
        rows={functions}
        columns={columns}
        by="incl"
        selected={(f) => f.file === place?.file && f.line === place.line && f.name === place.name}
        onSelect={(f) => store.select({ region: regionOf(regions, f) }, "replace")}
        rowClass={(f) => (stays(f) ? "" : "faded")}
      />
    </div>
  );
}

export function SourceView() {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  const { region, process, location } = selection;
  const regions = useRegions();
  const recorded = useAnswer(facts.has.lines ? "lines" : undefined, { process, location }, asRecorded);
  const functions = recorded.data?.functions ?? NONE;
  const bare = region === undefined && (!facts.has.lines || recorded.data?.functions.length === 0);
  const flat = useAnswer(bare ? "flat" : undefined, range(selection), asFlat);
  const [paint, setPaint] = usePaint();
  const place = regions.data && (recorded.data || !facts.has.lines) ? placeOf(regions.data, region, functions, flat.data) : undefined;
  const file = place && regions.data ? regions.data.files.indexOf(place.file) : -1;
  const source = useQuery(file >= 0 ? "source" : undefined, { file });
  const meta = source.loading ? undefined : source.data?.meta;
  const text = meta?.text;
  const at = place && functions.find((f) => f.file === place.file && f.line === place.line && f.name === place.name);
  const lines = useMemo(() => (place ? heatLines(functions, place.file, text, at) : []), [functions, place?.file, text, at]);
  const missing = meta?.missing ?? source.problem;
  const ready = regions.data !== undefined && (file < 0 || !source.loading) && (!facts.has.lines || !recorded.loading) && !flat.loading;
  useReport(() => ({
    ready,
    file: place?.file,
    function: place?.name,
    line: place?.line,
    missing,
    text: text !== undefined,
    lines: reported(lines),
    functions: functions.length,
    base: at?.base,
    uncompared: recorded.data?.none,
  }));
  const problem = regions.problem ?? recorded.problem;
  if (problem || !regions.data || (facts.has.lines && !recorded.data)) return <Waiting problem={problem} what="the lines" />;
  if (!place && flat.loading) return <Waiting problem={undefined} what="the functions" />;
  if (!place) return <Empty title="Choose a function">Its source is shown here. {advice(facts, undefined, false)}</Empty>;
  return (
    <>
      <Toolbar status={place.file ? `${place.file}:${place.line}` : ""}>
        <b>{place.name}</b>
        {at && <span>{`total ${time(timeOf(at))}, self ${time(at.excl)}`}</span>}
        {at?.base && <span>{`against the other run: ${both(time, { now: timeOf(at), before: timeOf(at.base) })}`}</span>}
        {functions.length > 0 && <PaintChoice paint={paint} onPaint={setPaint} plain="Heat" none={recorded.data?.none} />}
      </Toolbar>
      {at && <WholeRun what="Lines" />}
      {facts.has.compare && at && <Before of={at} none={recorded.data?.none} />}
      {(missing || !at) && <p class="note">{[missing, advice(facts, missing, at !== undefined)].filter(Boolean).join(". ")}</p>}
      {meta?.["remark"] && <p class="note">{String(meta["remark"])}</p>}
      <div class="halves">
        {functions.length > (store.embedded ? 1 : 0) && <Functions functions={functions} place={place} regions={regions.data} />}
        {lines.length > 0 ? (
          <Listing key={place.file} lines={lines} place={place} paint={paint} />
        ) : (
          <Empty title={file >= 0 && source.loading ? "Reading the source…" : "No source and no lines of this function"} />
        )}
      </div>
    </>
  );
}

function reported(lines: readonly HeatLine[]) {
  return lines.filter((l) => l.of >= 0).map(({ line, hits, excl, callees, share, before }) => ({ line, hits, excl, callees, share, before }));
}
