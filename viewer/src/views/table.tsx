// SPDX-License-Identifier: BSD-3-Clause
// The table of all functions with their numbers, which can be sorted and searched.
import { useMemo, useState } from "preact/hooks";
import { Uncompared } from "../parts/against";
import { changeOf } from "../data/change";
import { type Colour, css } from "../draw/colour";
import type { Metric, Regions } from "../data/facts";
import { type Flat, largest, sorted } from "../data/flat";
import { useFlat } from "../state/calls";
import { useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Empty, Waiting } from "../parts/Empty";
import { Name } from "../parts/Name";
import { Toolbar } from "../parts/Menu";
import { type Column, type Sorting, VirtualTable, room } from "../parts/VirtualTable";
import { useRegionColours } from "../state/colours";
import { useHighlighted } from "../state/highlighted";
import { type Unit, columnUnit, count, inUnit, percent, time } from "../data/units";
import { chosenMetric, scaleOf, timed, weightOf } from "../data/weight";
import type { View } from "../parts/view";

/** The sort key of each column. */
type Keys = Record<string, Float64Array | ((row: number) => string)>;

interface Made {
  columns: Column[];
  keys: Keys;
}

function timeColumn(id: string, title: string, hint: string, values: Float64Array, unit: Unit, total?: number): Column {
  const bar = total === undefined ? undefined : (row: number): number => values[row]! / total;
  return { id, title, unit: unit.name, hint, width: room(bar ? 112 : 92, inUnit(largest(values), unit)), cell: (row) => inUnit(values[row]!, unit), ...(bar && { bar }) };
}

function shareColumn(id: string, title: string, hint: string, values: Float64Array, total: number): Column {
  return { id, title, unit: "%", hint, width: "66px", cell: (row) => percent(total ? values[row]! / total : 0).replace(" %", "") };
}

const exclusiveOf = (metric: Metric): string => `${metric.name}:excl`;

/** first: the metric by which the table is sorted at first; its exclusive values have bars. */
function metricColumns(flat: Flat, metrics: readonly Metric[], first: Metric | undefined, keys: Keys): Column[] {
  return flat.metrics.flatMap(({ name, incl, excl }) => {
    const metric = metrics.find((one) => one.name === name);
    if (!metric) return [];
    const weight = weightOf(metric);
    const unit = weight.unit(largest(incl) * scaleOf(metric));
    const side = (id: string, title: string, values: Float64Array): Column => {
      keys[id] = values;
      return { id, title, unit: unit.name, hint: metric.what, width: "minmax(110px, max-content)", cell: (row) => weight.cell(values[row]! * scaleOf(metric), unit) };
    };
    const total = side(`${name}:incl`, weight.total, incl);
    if (metric.source === "off_cpu" && name in keys) return [total]; // running and waiting have a column beside the exclusive time
    const own = side(exclusiveOf(metric), weight.self, excl);
    const most = largest(excl);
    return [metric === first ? { ...own, bar: (row: number): number => (most ? excl[row]! / most : 0) } : own, total];
  });
}

function changeColumns(flat: Flat, keys: Keys): Column[] {
  const base = flat.base;
  if (!base) return [];
  const change = flat.excl.map((value, row) => value - base.excl[row]!);
  const share = flat.excl.map((value, row) => (base.excl[row] ? value / base.excl[row]! - 1 : value ? Infinity : 0));
  keys["base"] = base.excl;
  keys["change"] = change;
  keys["ratio"] = share;
  const unit = columnUnit(Math.max(largest(flat.excl), largest(base.excl))); // the unit of the column of exclusive time, which is adjacent
  const plus = (value: number, text: string): string => (value > 0 ? `+${text}` : text);
  return [
    timeColumn("base", "before", "Self time in the other run or range of time", base.excl, unit),
    {
      ...timeColumn("change", "change", "Self time, more or less than in the other run or range of time", change, unit),
      width: room(108, `+${inUnit(largest(change), unit)}`),
      cell: (row) => plus(change[row]!, inUnit(change[row]!, unit)),
    },
    {
      id: "ratio",
      unit: "%",
      title: "change",
      hint: "Self time, relative to the other run or range of time",
      width: "100px",
      cell: (row) => changeOf({ now: flat.excl[row]!, before: base.excl[row]! }),
    },
  ];
}

/** first: the metric by which the table is sorted at first, if not time. Its exclusive values come first. shows: the recorded numbers. */
function make(
  flat: Flat,
  regions: Regions,
  metrics: readonly Metric[],
  first: Metric | undefined,
  shows: { times: boolean; calls: boolean },
  longest: number,
  colour: (region: number) => Colour,
): Made {
  const name = (row: number): string => regions.names[flat.region[row]!] ?? "";
  const place = (row: number): string => regions.placeOf(flat.region[row]!);
  const { visits, incl, excl, running, waiting, each } = flat;
  const keys: Keys = { name, place, visits, incl, excl, inclShare: incl, exclShare: excl, ...each };
  const wide = columnUnit(largest(incl));
  const single = columnUnit(each ? largest(each.max) : 0); // one unit for all, so they can be compared
  const resumed = flat.resumed;
  if (resumed) keys["resumed"] = resumed;
  const again: Column = {
    id: "resumed",
    title: "resumed",
    hint: "How often a generator or coroutine was resumed",
    width: room(92, count(largest(resumed ?? []))),
    cell: (row) => count(resumed![row]!),
  };
  if (running && waiting) Object.assign(keys, { running, waiting });
  const split = (id: string, hint: string, values: Float64Array | undefined): Column[] => (values ? [{ ...timeColumn(id, `${id} time`, hint, values, wide, largest(values) || 1), width: room(132, inUnit(largest(values), wide)) }] : []);
  const timely: Column[] = [
    ...split("running", "Part of the self time in which the threads ran", running),
    ...split("waiting", "Part of the self time in which the threads waited", waiting),
    timeColumn("excl", "self time", "Exclusive time: in the function itself, without callees", excl, wide, largest(excl)),
    shareColumn("exclShare", "self", "Self time, of the self time of all functions", excl, flat.total),
    ...changeColumns(flat, keys),
    timeColumn("incl", "total time", "Inclusive time: with all that it calls; recursion counts once", incl, wide, largest(incl)),
    shareColumn("inclShare", "total", "Total time, of the self time of all functions", incl, flat.total),
  ];
  const called: Column[] = [
    { id: "visits", title: "calls", width: room(84, count(largest(visits))), cell: (row) => count(visits[row]!) },
    ...(resumed ? [again] : []),
    ...(each
      ? [
          timeColumn("mean", "mean", "Time of a call", each.mean, single),
          timeColumn("min", "min", "Shortest call", each.min, single),
          timeColumn("max", "max", "Longest call", each.max, single),
          timeColumn("std", "std", "Standard deviation of the time of a call", each.std, single),
        ]
      : []),
  ];
  const measured = metricColumns(flat, metrics, first, keys);
  const before = measured.filter(({ id }) => first && id === exclusiveOf(first));
  const columns: Column[] = [
    {
      id: "name",
      title: "Function",
      width: `${Math.max(220, Math.min(350, longest * 7 + 34))}px`,
      left: true,
      cell: (row) => (
        <>
          <i class="swatch" style={{ background: css(colour(flat.region[row]!)) }} />
          <Name text={name(row)} />
        </>
      ),
      full: (row) => `${name(row)}\n${place(row)}`,
    },
    ...before,
    ...(shows.times ? timely : []),
    ...(shows.calls ? called : []),
    ...measured.filter((column) => !before.includes(column)),
    { id: "place", title: "Defined at", width: "minmax(150px, 1fr)", left: true, cell: (row) => shortPlace(place(row)), full: place },
  ];
  return { columns, keys };
}

/** Shortens a path at its begin, as its end has more information. */
export function shortPlace(place: string): string {
  const parts = place.split("/");
  return parts.length > 3 ? `…/${parts.slice(-3).join("/")}` : place;
}

function useRows(flat: Flat | undefined, regions: Regions | undefined): Uint32Array | undefined {
  const highlighted = useHighlighted();
  return useMemo(() => {
    if (!flat || !regions) return undefined;
    const all = Uint32Array.from({ length: flat.count }, (_, row) => row);
    return highlighted ? all.filter((row) => highlighted[flat.region[row]!]) : all;
  }, [flat, regions, highlighted]);
}

function longestName(flat: Flat, regions: Regions): number {
  let most = 0;
  for (const region of flat.region) most = Math.max(most, regions.names[region]?.length ?? 0);
  return most;
}

function Table() {
  const store = useStore();
  const selection = useSelection();
  const facts = useFacts();
  const answer = useFlat();
  const regions = useRegions().data;
  const colour = useRegionColours(regions);
  const flat = answer.data;
  const rows = useRows(flat, regions);
  const first = timed(facts) ? undefined : chosenMetric(facts, selection); // a metric if nothing has times
  const [chosen, choose] = useState<Sorting>();
  const made = useMemo(
    () => flat && regions && make(flat, regions, facts.metrics, first, { times: timed(facts), calls: facts.visits > 0 }, longestName(flat, regions), colour),
    [flat, regions, first, colour],
  );
  const usual = first ? exclusiveOf(first) : flat?.running ? "running" : "excl";
  const sorting = made && chosen && chosen.id in made.keys ? chosen : { id: made && usual in made.keys ? usual : "excl", down: true };
  const order = useMemo(() => rows && made && sorted(rows, made.keys[sorting.id]!, sorting.down), [rows, made, sorting.id, sorting.down]);
  const selected = useMemo(() => (flat && selection.region !== undefined ? flat.region.indexOf(selection.region) : -1), [flat, selection.region]);
  useReport(() => ({
    ready: Boolean(order) || answer.problem !== undefined,
    total: flat?.total,
    rows: order?.length,
    sorting,
    columns: made?.columns.map((column) => column.id),
    top: flat && regions && order && Array.from(order.subarray(0, 10), (row) => rowOf(flat, regions, row)),
  }));
  if (!flat || !regions || !order || !made) return <Waiting problem={answer.problem} what="the functions" />;
  if (!flat.count) return <Empty title="No function ran here">Clear the range of time, the process or the thread above.</Empty>;
  const self = order.reduce((sum, row) => sum + flat.excl[row]!, 0);
  return (
    <>
      <Toolbar status={order.length < flat.functions && `self time of these: ${time(self)}, ${percent(flat.total ? self / flat.total : 0)} of all`}>
        <span>
          {order.length === flat.functions ? `${count(flat.functions)} functions` : `${count(order.length)} of ${count(flat.functions)} functions`}
        </span>
        {flat.unranged.length > 0 && <span class="soft">not known within a range of time: {flat.unranged.join(", ")}</span>}
      </Toolbar>
      <Uncompared problem={flat.baseNone} />
      {order.length ? (
        <VirtualTable
          label="Functions and their times. Arrows move, Enter shows the callers and callees."
          order={order}
          columns={made.columns}
          sorting={sorting}
          onSort={(id) => choose({ id, down: sorting.id === id ? !sorting.down : id !== "name" && id !== "place" })}
          selected={selected < 0 ? undefined : selected}
          onSelect={(row) => store.select({ region: flat.region[row]! }, "replace")}
          onOpen={(row) => store.select({ region: flat.region[row]!, view: "callers" })}
        />
      ) : (
        <Empty title="No function has that name">Clear the search or the module to see all {count(flat.count)} functions.</Empty>
      )}
    </>
  );
}

function rowOf(flat: Flat, regions: Regions, row: number) {
  const { visits, incl, excl, running, waiting, each, base } = flat;
  const numbers = { visits, incl, excl, ...(running && waiting && { running, waiting }), ...each, ...(base && { base: base.excl, change: excl.map((value, at) => value - base.excl[at]!) }) };
  const metrics = Object.fromEntries(flat.metrics.map((one) => [one.name, [one.incl[row], one.excl[row]]]));
  return { name: regions.names[flat.region[row]!], metrics, ...Object.fromEntries(Object.entries(numbers).map(([key, values]) => [key, values[row]])) };
}

export const table: View = { id: "table", title: "Table", filtered: true, available: () => true, component: Table };
