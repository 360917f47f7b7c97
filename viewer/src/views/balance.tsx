// SPDX-License-Identifier: BSD-3-Clause
// The distribution of time: all ranks as bars, one function over all ranks, and the functions of one rank.
import { useMemo, useState } from "preact/hooks";
import { Uncompared, useAgainst, useBase } from "../parts/against";
import { Spread, SpreadBefore, type Stats, TIMES, type Time, groupsOf, rolesOf } from "../data/balance";
import { BarChart, HEAD, nameOf, ROW } from "../charts/balancebars";
import { both, changeOf } from "../data/change";
import { type Columns, NONE } from "../data/columns";
import type { Facts, Regions } from "../data/facts";
import { useAnswer, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Waiting } from "../parts/Empty";
import { Choice, Menu, Toolbar } from "../parts/Menu";
import { type Column, type Sorting, VirtualTable } from "../parts/VirtualTable";
import { useHighlighted } from "../state/highlighted";
import { count, inUnit, percent, time as timeText, timeUnit } from "../data/units";
import type { Params } from "../data/source";
import { memberLabel } from "../data/rows";

const FEW = 12; // units up to which the bars are above the table instead of beside it
const NAMED = 4; // maximum of outliers named in a cell

const asSpread = (columns: Columns<"balance">): Spread => new Spread(columns);

interface Shown {
  spread: Spread;
  facts: Facts;
  regions: Regions;
  stats: readonly Stats[];
  unit: number; // index of the selected unit; -1: none
  time: Time;
  before: SpreadBefore | undefined;
  /** The role of all units, which is not repeated in narrow columns; "": they have several. */
  role: string;
}

function outlierText({ spread, facts, time }: Shown, s: Stats, all = false): string {
  const values = s.outliers.length ? spread.values(s.region, time) : [];
  const named = s.outliers.slice(0, all ? undefined : NAMED).map((unit) => {
    const away = s.mean > 0 ? values[unit]! / s.mean - 1 : 0;
    return `${spread.label(facts, unit)} ${away > 0 ? "+" : "−"}${percent(Math.abs(away))}`;
  });
  return named.join(", ") + (s.outliers.length > named.length ? `, ${s.outliers.length - named.length} more` : "");
}

function columnsOf(shown: Shown): { columns: Column[]; keys: Record<string, (row: number) => number | string> } {
  const { spread, facts, regions, stats, unit, time } = shown;
  const size = timeUnit(stats.reduce((longest, s) => Math.max(longest, s.max), 0));
  const at = (row: number): Stats => stats[row]!;
  const label = (one: number): string => spread.label(facts, one);
  const short = (one: number): string => memberLabel(label(one), shown.role);
  const ofUnit = unit < 0 ? [] : stats.map((s) => spread.values(s.region, time)[unit]!);
  const keys: Record<string, (row: number) => number | string> = {
    name: (row) => nameOf(regions, at(row).region),
    unit: (row) => ofUnit[row]!,
    mean: (row) => at(row).mean,
    std: (row) => at(row).std,
    min: (row) => at(row).min,
    max: (row) => at(row).max,
    imbalance: (row) => at(row).imbalance,
    percent: (row) => at(row).percent,
    outliers: (row) => at(row).outliers.length,
  };
  const number = (id: string, title: string, value: (row: number) => number, hint: string): Column => ({
    id,
    title,
    unit: size.name,
    hint,
    width: "82px",
    cell: (row) => inUnit(value(row), size),
  });
  const most = ofUnit.reduce((longest, one) => Math.max(longest, one), 0);
  const was = shown.before ? stats.map((s) => (s.region === NONE ? Number.NaN : shown.before!.mean(s.region, time))) : [];
  if (shown.before) {
    keys["before"] = (row) => was[row] || 0;
    keys["change"] = (row) => at(row).mean - (was[row] || 0);
  }
  const changed = (row: number) => ({ now: at(row).mean, before: was[row]! });
  const beside: Column[] = shown.before
    ? [
        number("before", "Before", (row) => was[row]!, "Mean in the other run"),
        {
          id: "change",
          title: "Change",
          unit: "%",
          width: "88px",
          hint: "Of the mean, against the other run; sorted by seconds",
          cell: (row) => (Number.isNaN(was[row]) ? "–" : changeOf(changed(row))),
          full: (row) => (Number.isNaN(was[row]) ? "not known separately in the other run" : both(timeText, changed(row))),
        },
      ]
    : [];
  const columns: Column[] = [
    { id: "name", title: "Function", width: "minmax(150px, 2fr)", left: true, cell: (row) => nameOf(regions, at(row).region) },
    ...(unit < 0 ? [] : [{ ...number("unit", label(unit), (row) => ofUnit[row]!, `${TIMES[time]} of ${label(unit)} alone`), width: "100px", bar: (row: number) => (most ? ofUnit[row]! / most : 0) }]),
    number("mean", "Mean", (row) => at(row).mean, `Mean ${TIMES[time]} over all ${spread.over}, those where it did not run included`),
    ...beside,
    number("std", "Std", (row) => at(row).std, "Standard deviation"),
    number("min", "Min", (row) => at(row).min, `Shortest ${TIMES[time]} of one`),
    { id: "minat", title: "on", width: "128px", left: true, fixed: true, full: (row) => label(at(row).minUnit), cell: (row) => short(at(row).minUnit) },
    number("max", "Max", (row) => at(row).max, `Longest ${TIMES[time]} of one`),
    { id: "maxat", title: "on", width: "128px", left: true, fixed: true, full: (row) => label(at(row).maxUnit), cell: (row) => short(at(row).maxUnit) },
    { ...number("imbalance", "Max − mean", (row) => at(row).imbalance, "Time that an even distribution would save"), width: "132px" },
    { id: "percent", title: "Above mean", width: "110px", hint: "How far the longest is above the mean", cell: (row) => percent(at(row).percent / 100) },
    { id: "outliers", title: "Outliers", width: "minmax(120px, 1fr)", left: true, hint: "Far from all others: more than two of their standard deviations", cell: (row) => outlierText(shown, at(row)), full: (row) => outlierText(shown, at(row), true) },
  ];
  return { columns, keys };
}

function ordered(rows: number[], key: (row: number) => number | string, down: boolean): number[] {
  const way = down ? -1 : 1;
  return rows.sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    const compared = typeof x === "string" ? x.localeCompare(String(y)) : x - Number(y);
    return compared ? way * compared : a - b;
  });
}

function Table({ shown, highlighted }: { shown: Shown; highlighted: Uint8Array | undefined }) {
  const store = useStore();
  const { region } = useSelection();
  const [sorting, sort] = useState<Sorting>({ id: "imbalance", down: true });
  const { columns, keys } = useMemo(() => columnsOf(shown), [shown]);
  const order = useMemo(() => {
    const rows = shown.stats.map((_, i) => i).filter((i) => !highlighted || (shown.stats[i]!.region !== NONE && highlighted[shown.stats[i]!.region]));
    return ordered(rows, keys[sorting.id] ?? keys["imbalance"]!, sorting.down);
  }, [shown, highlighted, sorting, keys]);
  return (
    <VirtualTable
      label="Functions and how evenly their time is spread"
      order={order}
      columns={columns}
      sorting={sorting}
      onSort={(id) => sort({ id, down: sorting.id === id ? !sorting.down : id !== "name" })}
      selected={shown.stats.findIndex((s) => s.region === region)}
      onSelect={(row) => shown.stats[row]!.region !== NONE && store.select({ region: shown.stats[row]!.region })}
    />
  );
}

type Over = NonNullable<Params<"balance">["over"]>;

const OVERS: { value: Over; title: string }[] = [
  { value: "ranks", title: "Ranks" },
  { value: "processes", title: "Processes" },
  { value: "threads", title: "Threads" },
];

function oversOf(facts: Facts): typeof OVERS {
  const some = { ranks: facts.processes.filter((p) => p.rank !== null).length > 1, processes: facts.processes.length > 1, threads: facts.locations.length > 1 };
  return OVERS.filter(({ value }) => some[value as keyof typeof some]);
}

function reportOf({ spread, facts, regions, stats, unit, time, before }: Shown): unknown {
  return {
    before: before && stats.map((s) => [nameOf(regions, s.region), s.region === NONE ? null : before.mean(s.region, time)]),
    over: spread.over,
    time,
    units: spread.units.map((_, i) => spread.label(facts, i)),
    total: spread.total,
    unit,
    rows: stats.map((s) => ({ ...s, name: nameOf(regions, s.region), outliers: s.outliers.map((one) => spread.label(facts, one)) })),
    bars: spread.units.map((_, i) => spread.parts(i).reduce((sum, part) => sum + part.value, 0)),
  };
}

const ORDERS = [
  { value: "number", title: "By number" },
  { value: "time", title: "Longest first" },
  { value: "begin", title: "By begin", hint: "The one that began first is the first" },
];
const ALL = "all"; // of the roles, in the selection
const partOf = (part: string | undefined): [over: string, role: string | undefined] => {
  const at = part?.indexOf("/") ?? -1;
  return at < 0 ? [part ?? "", undefined] : [part!.slice(0, at), part!.slice(at + 1)];
};

interface Roles {
  chosen: string;
  options: { value: string; title: string }[];
  /** The units that are shown. */
  units: readonly number[];
  /** What is not compared. */
  note: string | undefined;
}

/** The roles to choose from: units with equal roles are compared, at first those with the most units. */
function rolesIn(facts: Facts, over: string, units: readonly number[], role: string | undefined): Roles {
  const { groups, single, helpers } = groupsOf(facts, over, units);
  const group = role === ALL ? undefined : (groups.find((one) => one.role === role) ?? groups[0]);
  const options = groups.map((one) => ({ value: one.role, title: `${one.role} ×${one.units.length}` }));
  const left = [single.length && `the only one with its role: ${rolesOf(facts, over, single)}`, helpers.length && `idle helpers: ${rolesOf(facts, over, helpers)}`].filter(Boolean);
  return {
    chosen: group?.role ?? ALL,
    options: left.length || groups.length > 1 ? [...options, { value: ALL, title: "All" }] : options,
    units: group?.units ?? units,
    note: group && left.length ? `Not compared, ${left.join("; ")}.` : undefined,
  };
}

interface PageProps {
  spread: Spread;
  before: SpreadBefore | undefined;
  waiting: boolean;
  none: string | undefined;
  regions: Regions;
  over: Over;
  roles: Roles;
}

function Page({ spread, before, waiting, none, regions, over, roles }: PageProps) {
  const store = useStore();
  const facts = useFacts();
  const selection = useSelection();
  const [inclusive, setInclusive] = useState(false);
  const time: Time = inclusive ? "incl" : spread.self;
  const [by, setBy] = useState("number");
  const unit = spread.unitOf(facts, selection.process, selection.location);
  const role = roles.chosen === ALL ? "" : roles.chosen;
  const shown = useMemo((): Shown => ({ spread, facts, regions, stats: spread.regions.map((one) => spread.stats(one, time)), unit, time, before, role }), [spread, facts, regions, time, unit, before, role]);
  const one = selection.region === undefined ? undefined : shown.stats.find((s) => s.region === selection.region);
  const order = useMemo(() => {
    const units = spread.units.map((_, i) => i);
    const long = one ? spread.values(one.region, time) : units.map((i) => spread.parts(i).reduce((sum, part) => sum + part.value, 0));
    const those = spread.ofThreads ? facts.locations : facts.processes;
    const begin = (i: number): number => those[spread.units[i]!]!.begin;
    return by === "number" ? units : units.sort((a, b) => (by === "time" ? long[b]! - long[a]! : begin(a) - begin(b)) || a - b);
  }, [spread, by, one, time, facts]);
  const highlighted = useHighlighted();
  const was = useMemo(() => before?.values(one?.region, time, spread.units), [before, one, time, spread]);
  useReport(() => ({ ...(reportOf(shown) as object), ready: !waiting, barsBefore: was && Array.from(was), ranged, role: roles.chosen, roles: roles.options.map(({ title }) => title), note: roles.note ?? null, order: order.map((i) => spread.label(facts, i)), one: one ? nameOf(regions, one.region) : null }));
  const choose = (index: number): void => {
    const which = spread.units[index]!;
    const key = spread.ofThreads ? "location" : "process";
    store.select({ process: undefined, location: undefined, [key]: index === unit ? undefined : which });
  };
  const few = order.length <= FEW;
  const ranged = selection.begin !== undefined || selection.end !== undefined;
  return (
    <div class="balance">
      <Toolbar status={`${count(spread.units.length)} ${spread.over}${ranged ? ", in the selected time" : ""}`}>
        {oversOf(facts).length > 1 && <Choice label="Over" value={over} options={oversOf(facts)} onChange={(value) => store.select({ part: value })} />}
        {roles.options.length > 1 && <Menu label="Role" value={roles.chosen} options={roles.options} onChange={(value) => store.select({ part: `${over}/${value}` })} />}
        <Choice label="Time" value={time} options={[{ value: spread.self, title: spread.self === "running" ? "Running" : "Self (exclusive)" }, { value: "incl", title: "Total (inclusive)" }]} onChange={(value) => setInclusive(value === "incl")} />
        <Choice label="Order" value={by} options={ORDERS} onChange={setBy} />
        {one && (
          <button class="quiet" onClick={() => store.select({ region: undefined, path: undefined })}>
            All functions
          </button>
        )}
      </Toolbar>
      <Uncompared problem={none} />
      {roles.note && <p class="note">{roles.note}</p>}
      <div class={few ? "halves stacked" : "halves"}>
        <BarChart role={role} high={few ? HEAD + order.length * ROW + 6 : undefined} spread={spread} facts={facts} regions={regions} order={order} one={one} time={time} selected={unit} before={was} onUnit={choose} onRegion={(region) => store.select({ region })} />
        <Table shown={shown} highlighted={highlighted} />
      </div>
    </div>
  );
}

export function BalanceView() {
  const facts = useFacts();
  const { begin, end, part } = useSelection();
  const [wanted, role] = partOf(part);
  const overs = oversOf(facts);
  const over = (overs.find(({ value }) => value === wanted) ?? overs[0])?.value ?? "auto";
  const spread = useAnswer("balance", { over, begin, end }, asSpread);
  const regions = useRegions();
  const against = useAgainst();
  const base = useBase("balance", { over }, asSpread);
  const ofBase = regions.data?.ofBase;
  const roles = useMemo(() => spread.data && rolesIn(facts, spread.data.over, spread.data.units, role), [facts, spread.data, role]);
  const self = base.data?.self === "excl" ? "excl" : spread.data?.self; // a time that both runs have
  const shown = useMemo(() => spread.data && roles && (roles.units.length === spread.data.units.length && self === spread.data.self ? spread.data : new Spread(spread.data.columns, roles.units, self)), [spread.data, roles, self]);
  const before = useMemo(() => {
    if (!base.data || !against || !ofBase || !shown) return undefined;
    const { ofThreads, columns, units } = base.data;
    const here = (unit: number): number => (ofThreads ? against.location(unit) : against.process(unit));
    const kept = roles?.units.length === spread.data?.units.length ? units : units.filter((unit) => shown.units.includes(here(unit)));
    return new SpreadBefore(new Spread(columns, kept, self), ofBase, here);
  }, [base.data, against, ofBase, shown, self]);
  if (!shown || !roles || !regions.data) return <Waiting problem={spread.problem ?? regions.problem} what="how time is spread" />;
  return <Page spread={shown} before={before} waiting={base.loading} none={base.problem} regions={regions.data} over={over} roles={roles} />;
}
