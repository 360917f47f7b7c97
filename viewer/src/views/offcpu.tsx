// SPDX-License-Identifier: BSD-3-Clause
// Off-CPU time: the kinds of waiting, and the functions that waited.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Columns, NONE } from "../data/columns";
import type { Regions } from "../data/facts";
import { type KindSum, type OffCpu, OffCpuTimes } from "../data/offcpu";
import { regionNamed } from "../data/stacks";
import { percent, time } from "../data/units";
import { Uncompared, changeColumns, useAgainst, useBase } from "../parts/against";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named } from "../parts/Named";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { useAnswer, useRegions, useReport, useSelection, useStore } from "../state/hooks";

/** In the selection the part of the view, of runs that also have waits of MPI; followed by / and a kind of waiting. */
export const FUNCTIONS = "functions";
const asTimes = (columns: Columns<"offcpu">): OffCpuTimes => new OffCpuTimes(columns.meta);

interface KindsProps {
  times: OffCpuTimes;
  before: OffCpuTimes | undefined;
  chosen: string | undefined;
  choose: (kind: string | undefined) => void;
}

function Kinds({ times, before, chosen, choose }: KindsProps) {
  const columns: RowColumn<KindSum>[] = useMemo(
    () => [
      { id: "kind", title: "Waiting for", width: "minmax(120px, 1fr)", value: (k) => k.kind },
      { id: "time", title: "Time", width: "92px", time: true, value: (k) => k.waiting },
      { id: "share", title: "Of waiting", width: "110px", value: (k) => times.share(k), cell: (k) => percent(times.share(k)), bar: (k) => times.share(k) },
      ...(before ? changeColumns((k: KindSum) => ({ now: k.waiting, before: before.ofKind(k.kind) })) : []),
    ],
    [times, before],
  );
  return <Rows label="Kinds of waiting" rows={times.kinds} columns={columns} by="time" selected={(k) => k.kind === chosen} onSelect={(k) => choose(k.kind === chosen ? undefined : k.kind)} />;
}

interface FunctionsProps {
  times: OffCpuTimes;
  rows: readonly OffCpu[];
  before: ((row: OffCpu) => number) | undefined;
  regions: Regions;
}

function Functions({ times, rows, before, regions }: FunctionsProps) {
  const store = useStore();
  const { region: selected } = useSelection();
  const columns: RowColumn<OffCpu>[] = useMemo(
    () => [
      {
        id: "name",
        title: "Function",
        width: "minmax(220px, 1fr)",
        value: (r) => r.name,
        full: (r) => [r.name, r.line ? `${r.file}:${r.line}` : r.file].filter(Boolean).join("\n"),
        cell: (r) => <Named regions={regions} region={regionNamed(regions, r.name) ?? NONE} text={r.name} />,
      },
      { id: "kind", title: "Waiting for", width: "minmax(110px, 0.3fr)", value: (r) => r.kind },
      { id: "time", title: "Time", width: "110px", time: true, value: (r) => r.waiting, bar: (r) => r.waiting / (times.rows[0]?.waiting || 1) },
      { id: "share", title: "Of waiting", width: "110px", value: (r) => times.share(r), cell: (r) => percent(times.share(r)) },
      ...(before ? changeColumns((r: OffCpu) => ({ now: r.waiting, before: before(r) })) : []),
    ],
    [times, rows, before, regions],
  );
  return (
    <Rows
      label="Functions that waited"
      rows={rows}
      columns={columns}
      by="time"
      selected={(r) => selected !== undefined && regionNamed(regions, r.name) === selected}
      onSelect={(r) => store.select({ region: regionNamed(regions, r.name), path: undefined }, "replace")}
      onOpen={(r) => store.select({ view: "callers", region: regionNamed(regions, r.name), path: undefined })}
    />
  );
}

/** children: further controls above the view. */
export function OffCpuView({ children }: { children?: ComponentChildren }) {
  const store = useStore();
  const { part } = useSelection();
  const answer = useAnswer("offcpu", {}, asTimes);
  const base = useBase("offcpu", {}, asTimes);
  const against = useAgainst();
  const regions = useRegions();
  const times = answer.data;
  const chosen = times?.kinds.find(({ kind }) => `${FUNCTIONS}/${kind}` === part)?.kind;
  const rows = useMemo(() => times?.rows.filter(({ kind }) => chosen === undefined || kind === chosen) ?? [], [times, chosen]);
  const before = useMemo(() => base.data && against && base.data.byName((name) => against.name(name)), [base.data, against]);
  useReport(() => ({
    ready: Boolean(times && regions.data) && !base.loading,
    kinds: times?.kinds.map((k) => [k.kind, k.waiting]),
    rows: rows.map((r) => [r.name, r.kind, r.waiting]),
    before: before && rows.map(before),
    chosen: chosen ?? null,
  }));
  if (!times || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the waits" />;
  if (!times.rows.length) return <Empty title="No waiting">The threads ran all the time, or their waits were shorter than about 40 µs.</Empty>;
  return (
    <>
      <Toolbar hint="Enter or a double click on a function shows its callers">
        {children}
        <b>{`${time(times.waited)} waited${times.busy ? `, ${percent(times.waited / times.busy)} of the time of all threads` : ""}`}</b>
      </Toolbar>
      <Uncompared problem={base.problem} />
      <WholeRun what="Waits" ranks />
      {times.least > 0 && <p class="note">{`Call paths with less than ${percent(times.least)} of the time are left out.`}</p>}
      <div class="halves">
        <div class="side left">
          <Kinds times={times} before={base.data} chosen={chosen} choose={(kind) => store.select({ part: kind === undefined ? FUNCTIONS : `${FUNCTIONS}/${kind}` }, "replace")} />
        </div>
        <div class="pane wide">
          <Functions times={times} rows={rows} before={before} regions={regions.data} />
        </div>
      </div>
    </>
  );
}
