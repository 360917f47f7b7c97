// SPDX-License-Identifier: BSD-3-Clause
// The program's own functions, each with the functions of libraries that it led to, and whose code took the time.
import { useMemo } from "preact/hooks";
import { type Columns, NONE } from "../data/columns";
import type { OwnPart, OwnRow } from "../data/contract";
import type { Regions } from "../data/facts";
import { regionNamed } from "../data/stacks";
import { count, inUnit, percent, timeUnit } from "../data/units";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named } from "../parts/Named";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { useAnswer, useRegions, useReport, useSelection, useStore } from "../state/hooks";

type Own = Columns<"own">["meta"];
const asOwn = (columns: Columns<"own">): Own => columns.meta;
const ORPHANS = "(called by no own function)";
const TIMES = [
  { key: "own", title: "Self", hint: "In the function itself" },
  { key: "libraries", title: "Libraries", hint: "In functions of libraries that it led to, until the next own function" },
  { key: "standard", title: "Standard library", hint: "In functions of the standard library that it led to, until the next own function" },
  { key: "other", title: "Not known", hint: "In functions that it led to and whose owner is not known" },
] as const;

interface FunctionsProps {
  rows: readonly OwnRow[];
  /** s; of the whole run */
  total: number;
  regions: Regions;
}

function Functions({ rows, total, regions }: FunctionsProps) {
  const store = useStore();
  const { region: selected } = useSelection();
  const columns: RowColumn<OwnRow>[] = useMemo(() => {
    const unit = timeUnit(rows.reduce((most, row) => Math.max(most, row.sum), 0));
    const shown = TIMES.filter(({ key }) => key !== "other" || rows.some((row) => row.other > 0));
    return [
      {
        id: "name",
        title: "Own function",
        width: "minmax(220px, 1fr)",
        value: (r) => r.name || ORPHANS,
        full: (r) => [r.name || ORPHANS, r.file && `${r.file}:${r.line}`].filter(Boolean).join("\n"),
        cell: (r) => <Named regions={regions} region={regionNamed(regions, r.name) ?? NONE} text={r.name || ORPHANS} />,
      },
      { id: "sum", title: "Sum", hint: "Self, and the functions of others that it leads to", unit, width: "110px", value: (r) => r.sum, bar: (r) => r.sum / (total || 1) },
      { id: "share", title: "Of all", hint: "Of the time of the run", width: "84px", value: (r) => r.sum / (total || 1), cell: (r) => percent(r.sum / (total || 1)) },
      ...shown.map(({ key, title, hint }): RowColumn<OwnRow> => ({ id: key, title, hint, unit, width: key === "standard" ? "150px" : "110px", value: (r) => r[key], cell: (r) => inUnit(r[key], unit) })),
      ...(rows.some((row) => row.waiting > 0)
        ? [
            {
              id: "waiting",
              title: "Waiting",
              hint: "Time in which threads waited, in the function and in those of others that it led to; not in the sum",
              width: "110px",
              time: true,
              value: (r: OwnRow) => r.waiting,
            },
          ]
        : []),
      { id: "calls", title: "Calls", width: "84px", value: (r) => (r.visits ?? 0) + r.resumed, cell: (r) => (r.visits === null ? "–" : count(r.visits + r.resumed)) },
    ];
  }, [rows, total, regions]);
  return (
    <Rows
      label="Own functions, with the libraries that they lead to"
      rows={rows}
      columns={columns}
      by="sum"
      selected={(r) => selected !== undefined && regionNamed(regions, r.name) === selected}
      onSelect={(r) => store.select({ region: regionNamed(regions, r.name), path: undefined }, "replace")}
      onOpen={(r) => r.name && store.select({ view: "callers", region: regionNamed(regions, r.name), path: undefined })}
    />
  );
}

function Parts({ parts, total }: { parts: readonly OwnPart[]; total: number }) {
  const store = useStore();
  const columns: RowColumn<OwnPart>[] = useMemo(
    () => [
      { id: "title", title: "Whose code", width: "minmax(120px, 1fr)", value: (p) => p.title },
      { id: "time", title: "Time", width: "92px", time: true, value: (p) => p.time },
      { id: "share", title: "Of all", width: "100px", value: (p) => p.time / total, cell: (p) => percent(p.time / total), bar: (p) => p.time / total },
    ],
    [parts, total],
  );
  return <Rows label="Whose code took the time" rows={parts} columns={columns} onOpen={(p) => p.part === "imports" && store.select({ view: "imports" })} />;
}

export function OwnView() {
  const answer = useAnswer("own", {}, asOwn);
  const known = useRegions();
  const own = answer.data;
  const total = own?.parts.reduce((sum, part) => sum + part.time, 0) ?? 0;
  const rows = useMemo(() => own?.rows.filter((row) => row.name || row.sum > 0 || row.waiting > 0) ?? [], [own]);
  const parts = useMemo(() => own?.parts.filter((part) => part.time > 0) ?? [], [own]);
  useReport(() => ({
    ready: Boolean(own && known.data),
    total,
    parts: parts.map((part) => [part.title, part.time]),
    rows: rows.map((row) => [row.name, row.sum, row.own, row.libraries, row.standard]),
  }));
  if (!own || !known.data) return <Waiting problem={answer.problem ?? known.problem} what="own code" />;
  if (!total) return <Empty title="No time in functions was recorded" />;
  return (
    <>
      <Toolbar status="without waiting and imports; Enter or a double click on a function shows its callers">
        <b>{`${count(own.rows.length - 1)} own functions`}</b>
      </Toolbar>
      <WholeRun what="Times" ranks />
      {own.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <div class="halves">
        <div class="side left">
          <Parts parts={parts} total={total} />
        </div>
        <div class="pane wide">
          <Functions rows={rows} total={total} regions={known.data} />
        </div>
      </div>
    </>
  );
}
