// SPDX-License-Identifier: BSD-3-Clause
// Wait states of MPI: kind, waiter, cause, and source location; and off-CPU time.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Uncompared, changeColumns, useAgainst, useBase } from "../parts/against";
import { both } from "../data/change";
import type { Columns } from "../data/columns";
import type { Facts, Regions } from "../data/facts";
import { useAnswer, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { useStackRows } from "../state/stackrows";
import { placeName, processName, shortStack } from "../data/stacks";
import { count, percent, time } from "../data/units";
import { FUNCTIONS, OffCpuView } from "./offcpu";
import { type WaitMetric, type WaitRow, type Waiter, type Waits, WaitsBefore, chosenRows, depthOf, nameOfKind, waiters } from "../data/waits";

const asWaits = (columns: Columns<"waits">): Waits => columns.meta;

interface KindsProps {
  waits: Waits;
  before: WaitsBefore | undefined;
  /** s; sum of all waits, and time in functions of all ranks and threads */
  waited: number;
  busy: number;
  chosen: WaitMetric | undefined;
  choose: (m: WaitMetric | undefined) => void;
}

function Kinds({ waits, before, waited, busy, chosen, choose }: KindsProps) {
  const rows = useMemo(() => waits.metrics.filter((m) => m.count > 0 || (before?.metric(m) ?? 0) > 0), [waits, before]);
  const share = (id: string, title: string, hint: string, of: number): RowColumn<WaitMetric> => {
    const value = (m: WaitMetric): number => (of ? m.time / of : 0);
    return { id, title, hint, width: "110px", value, cell: (m) => percent(value(m)), bar: value, fixed: true };
  };
  const columns: RowColumn<WaitMetric>[] = useMemo(
    () => [
      {
        id: "kind",
        title: "Kind of waiting",
        width: "minmax(160px, 1fr)",
        value: (m) => m.shown,
        full: (m) => `${m.shown}: ${m.what}`,
        cell: (m) => <span style={{ paddingLeft: `${depthOf(waits.metrics, m) * 14}px` }}>{m.shown}</span>,
        fixed: true,
      },
      { id: "time", title: "Time", width: "92px", time: true, value: (m) => m.time, fixed: true },
      share("share", "Of waiting", "Of all waiting", waited),
      share("all", "Of all", "Of all time of all ranks and threads", busy),
      { id: "count", title: "Waits", width: "72px", value: (m) => m.count, cell: (m) => count(m.count), fixed: true },
      ...(before ? changeColumns((m: WaitMetric) => ({ now: m.time, before: before.metric(m) })).map((c) => ({ ...c, fixed: true })) : []),
    ],
    [waits, before, waited, busy],
  );
  return <Rows label="Kinds of waiting" rows={rows} columns={columns} selected={(m) => m === chosen} onSelect={(m) => choose(m === chosen ? undefined : m)} />;
}

function Who({ rows, before, kinds, facts }: { rows: readonly WaitRow[]; before: WaitsBefore | undefined; kinds: readonly number[]; facts: Facts }) {
  const store = useStore();
  const { process } = useSelection();
  const list = useMemo(() => waiters(rows), [rows]);
  const most = Math.max(...list.map((w) => Math.max(w.waited, w.caused)), 0);
  const columns: RowColumn<Waiter>[] = useMemo(
    () => [
      { id: "who", title: "Rank", width: "minmax(100px, 1fr)", left: true, value: (w) => w.process, cell: (w) => processName(facts, w.process) },
      { id: "waited", title: "Waited", width: "110px", time: true, value: (w) => w.waited, bar: (w) => w.waited / most },
      ...(before ? changeColumns((w: Waiter) => ({ now: w.waited, before: before.waiter(w.process, kinds).waited })) : []),
      { id: "caused", title: "Was waited for", width: "150px", time: true, value: (w) => w.caused, bar: (w) => w.caused / most },
    ],
    [list, before, facts],
  );
  return (
    <Rows
      label="Ranks that waited, and ranks that were waited for"
      rows={list}
      columns={columns}
      by="caused"
      selected={(w) => w.process === process}
      onSelect={(w) => store.select({ process: w.process === process ? undefined : w.process, location: undefined }, "replace")}
    />
  );
}

interface WhereProps {
  waits: Waits;
  before: WaitsBefore | undefined;
  rows: readonly WaitRow[];
  facts: Facts;
  regions: Regions;
}

function Where({ waits, before, rows, facts, regions }: WhereProps) {
  const most = rows.reduce((longest, row) => Math.max(longest, row.time), 0);
  const stack = (row: WaitRow): string[] => waits.stacks[row.path] ?? [];
  const columns: RowColumn<WaitRow>[] = useMemo(
    () => [
      { id: "where", title: "Where", width: "minmax(220px, 1fr)", value: (r) => shortStack(stack(r)), full: (r) => stack(r).join("\n→ ") },
      { id: "kind", title: "Kind", width: "minmax(150px, 0.5fr)", value: (r) => nameOfKind(waits.metrics, r.kind) },
      { id: "who", title: "Waiter", width: "110px", value: (r) => placeName(facts, r.location) },
      { id: "on", title: "Waited for", width: "110px", value: (r) => processName(facts, r.on) || "no single rank" },
      { id: "time", title: "Time", width: "110px", time: true, value: (r) => r.time, bar: (r) => r.time / most },
      ...(before ? changeColumns((r: WaitRow) => ({ now: r.time, before: before.of(r) })) : []),
      { id: "longest", title: "Longest", width: "110px", time: true, value: (r) => r.longest },
      { id: "count", title: "Waits", width: "72px", value: (r) => r.count, cell: (r) => count(r.count) },
    ],
    [waits, before, rows, facts],
  );
  return <Rows label="Waits by call path" rows={rows} columns={columns} by="time" {...useStackRows(regions, stack, () => "callers")} />;
}

/** A sentence about the largest cause of waits. */
function words(rows: readonly WaitRow[], facts: Facts, total: number, before: number | undefined): string {
  const list = waiters(rows);
  const mpi = facts.locations.reduce((sum, l) => sum + l.mpi, 0);
  const cause = list.reduce<Waiter | undefined>((best, w) => (best && best.caused >= w.caused ? best : w), undefined);
  const parts = [`${time(total)} waited`];
  if (before !== undefined) parts.push(`against the other run ${both(time, { now: total, before })}`);
  if (mpi > 0) parts.push(`${percent(total / mpi)} of the time in MPI`);
  if (cause && cause.caused > 0) parts.push(`${percent(cause.caused / total)} of it for ${processName(facts, cause.process)}`);
  return parts.join(", ");
}

function MpiWaits({ children }: { children?: ComponentChildren }) {
  const facts = useFacts();
  const { process, location } = useSelection();
  const answer = useAnswer("waits", {}, asWaits);
  const regions = useRegions();
  const [metric, choose] = useState<WaitMetric | undefined>(undefined);
  const waits = answer.data;
  const all = useMemo(() => waits?.metrics.flatMap((m) => (m.parent === null ? m.kinds : [])) ?? [], [waits]);
  const kinds = metric?.kinds ?? all;
  const rows = useMemo(() => (waits ? chosenRows(waits, kinds) : []), [waits, metric]);
  const against = useAgainst();
  const base = useBase("waits", {}, asWaits);
  const before = useMemo(() => (waits && base.data && against ? new WaitsBefore(waits, base.data, against) : undefined), [waits, base.data, against]);
  const here = useMemo(
    () => rows.filter((r) => (process === undefined || r.process === process || r.on === process) && (location === undefined || r.location === location)),
    [rows, process, location],
  );
  const total = rows.reduce((sum, row) => sum + row.time, 0);
  useReport(() => waits && {
    ready: !base.loading,
    before: before && {
      metrics: waits.metrics.map((m) => [m.name, before.metric(m)]),
      who: waiters(rows).map((w) => [w.process, before.waiter(w.process, kinds).waited, before.waiter(w.process, kinds).caused]),
      rows: here.map((row) => [row.kind, row.process, row.time, before.of(row)]),
    },
    metrics: waits.metrics.map((m) => [m.name, m.count, m.time]),
    rows: here.length,
    time: here.reduce((sum, row) => sum + row.time, 0),
    who: waiters(rows).map((w) => [w.process, w.waited, w.caused]),
  });
  if (!waits || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the waits" />;
  if (!waits.rows.length && !before) return <Empty title="No waits in MPI">No call of MPI waited for another rank. {children}</Empty>;
  const sum = waits.metrics.reduce((s, m) => s + (m.parent === null ? m.time : 0), 0);
  return (
    <>
      <Toolbar status={metric ? metric.what : "by Scalasca's definitions"}>
        {children}
        <b>{words(rows, facts, total, before?.total(kinds))}</b>
      </Toolbar>
      <Uncompared problem={base.problem} />
      <WholeRun what="Waits" />
      <div class="halves upper fitted" style={{ "--rows": 1 + Math.max(waits.metrics.filter((m) => m.count > 0).length, waiters(rows).length) }}>
        <div class="pane">
          <Kinds waits={waits} before={before} waited={sum} busy={facts.locations.reduce((s, l) => s + l.busy, 0)} chosen={metric} choose={choose} />
        </div>
        <div class="side">
          <Who rows={rows} before={before} kinds={kinds} facts={facts} />
        </div>
      </div>
      <div class="halves">
        <div class="pane">
          <h2>{`Call paths that waited${process === undefined ? "" : `, or were waited for, of ${processName(facts, process)}`}`}</h2>
          <Where waits={waits} before={before} rows={here} facts={facts} regions={regions.data} />
        </div>
      </div>
    </>
  );
}

const PARTS = [
  { value: "mpi", title: "MPI" },
  { value: FUNCTIONS, title: "Functions", hint: "Off-CPU time of all threads" },
];

export function WaitsView() {
  const store = useStore();
  const { has } = useFacts();
  const { part = "" } = useSelection();
  const shown = has.waits && !part.startsWith(FUNCTIONS) ? "mpi" : FUNCTIONS;
  const choice = has.waits && has.off_cpu && <Choice label="Waits" value={shown} options={PARTS} onChange={(value) => store.select({ part: value })} />;
  return shown === "mpi" ? <MpiWaits>{choice}</MpiWaits> : <OffCpuView>{choice}</OffCpuView>;
}
