// SPDX-License-Identifier: BSD-3-Clause
// Files that the program read and wrote, and functions of the C library that did so.
import { useMemo } from "preact/hooks";
import { Uncompared, changeColumns, useBase } from "../parts/against";
import type { Columns } from "../data/columns";
import type { FileUse } from "../data/contract";
import type { Regions } from "../data/facts";
import { asFlat, Flat } from "../data/flat";
import { useAnswer, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named, nameOf } from "../parts/Named";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { range } from "../state/store";
import { bytes, count, time } from "../data/units";

interface Caller {
  region: number;
  /** In the other run; undefined: one run. */
  before: number | undefined;
  calls: number;
  time: number;
  read: number;
  written: number;
}

const timeOf = (file: FileUse): number => file.read_time + file.write_time + file.flush_time;
const asFiles = (columns: Columns<"io">): FileUse[] => columns.meta.files;
function Files({ files, before }: { files: readonly FileUse[]; before: readonly FileUse[] | undefined }) {
  const most = files.reduce((longest, f) => Math.max(longest, timeOf(f)), 0);
  const was = useMemo(() => before && new Map(before.map((f) => [f.path, timeOf(f)])), [before]);
  const columns: RowColumn<FileUse>[] = useMemo(
    () => [
      { id: "path", title: "File", width: "minmax(220px, 1fr)", value: (f) => f.path || "(not known)" },
      { id: "time", title: "Time", width: "110px", time: true, value: timeOf, bar: (f) => timeOf(f) / most },
      ...(was ? changeColumns((f: FileUse) => ({ now: timeOf(f), before: was.get(f.path) ?? 0 })) : []),
      { id: "read", title: "Read", width: "92px", value: (f) => f.bytes_read, cell: (f) => bytes(f.bytes_read) },
      { id: "written", title: "Written", width: "92px", value: (f) => f.bytes_written, cell: (f) => bytes(f.bytes_written) },
      { id: "opens", title: "Opens", width: "76px", value: (f) => f.opens, cell: (f) => count(f.opens) },
      { id: "reads", title: "Reads", width: "76px", value: (f) => f.reads, cell: (f) => count(f.reads) },
      { id: "writes", title: "Writes", width: "76px", value: (f) => f.writes, cell: (f) => count(f.writes) },
      { id: "failed", title: "Failed", width: "76px", value: (f) => f.failed, cell: (f) => count(f.failed) },
    ],
    [files, was],
  );
  return <Rows label="Files by time" rows={files} columns={columns} by="time" />;
}

/** Functions of the C library that work on files. */
function callersIn(flat: Flat, regions: Regions): Caller[] {
  const metric = (name: string) => flat.metrics.find((m) => m.name === name)?.excl;
  const [read, written] = [metric("io_bytes_read"), metric("io_bytes_written")];
  return Array.from(flat.region, (region, i) => ({
    region,
    before: flat.base?.incl[i],
    calls: flat.visits[i]!,
    time: flat.incl[i]!,
    read: read?.[i] ?? 0,
    written: written?.[i] ?? 0,
  })).filter(({ region }) => regions.kindOf(region) === "io");
}

function Functions({ rows, regions }: { rows: readonly Caller[]; regions: Regions }) {
  const store = useStore();
  const { region } = useSelection();
  const most = Math.max(...rows.map((r) => r.time), 0);
  const columns: RowColumn<Caller>[] = useMemo(
    () => [
      {
        id: "name",
        title: "Function of the C library",
        width: "minmax(160px, 1fr)",
        value: (r) => regions.names[r.region]!,
        cell: (r) => <Named regions={regions} region={r.region} text={nameOf(regions, r.region)} />,
      },
      { id: "time", title: "Time", width: "110px", time: true, value: (r) => r.time, bar: (r) => r.time / most },
      ...(rows[0]?.before === undefined ? [] : changeColumns((r: Caller) => ({ now: r.time, before: r.before ?? 0 }))),
      { id: "calls", title: "Calls", width: "84px", value: (r) => r.calls, cell: (r) => count(r.calls) },
      { id: "read", title: "Read", width: "92px", value: (r) => r.read, cell: (r) => bytes(r.read) },
      { id: "written", title: "Written", width: "92px", value: (r) => r.written, cell: (r) => bytes(r.written) },
    ],
    [rows, regions],
  );
  return (
    <Rows
      label="Functions that read and write"
      rows={rows}
      columns={columns}
      by="time"
      selected={(r) => r.region === region}
      onSelect={(r) => store.select({ region: r.region }, "replace")}
      onOpen={(r) => store.select({ view: "callers", region: r.region })}
    />
  );
}

export function Io() {
  const facts = useFacts();
  const files = useAnswer(facts.has.trace ? "io" : undefined, {}, asFiles);
  const base = useBase(facts.has.trace ? "io" : undefined, {}, asFiles);
  const flat = useAnswer("flat", range(useSelection()), asFlat);
  const known = useRegions();
  const regions = known.data;
  const rows = useMemo(() => (flat.data && regions ? callersIn(flat.data, regions) : []), [flat.data, regions]);
  const ready = Boolean(flat.data && regions && (files.data || !facts.has.trace));
  useReport(() => ({
    ready: ready && !base.loading,
    before: base.data?.map((f) => [f.path, timeOf(f)]),
    files: files.data?.map((f) => [f.path, f.bytes_read, f.bytes_written, timeOf(f)]),
    functions: regions && rows.map((r) => [regions.names[r.region], r.calls, r.time, r.read, r.written]),
  }));
  if (!ready || !regions) return <Waiting problem={files.problem ?? flat.problem ?? known.problem} what="the files" />;
  const sum = (what: (row: Caller) => number): number => rows.reduce((s, row) => s + what(row), 0);
  return (
    <>
      <Toolbar status="Enter or a double click on a function shows its callers">
        <b>{`${time(sum((r) => r.time))} in file I/O: ${bytes(sum((r) => r.read))} read, ${bytes(sum((r) => r.written))} written`}</b>
      </Toolbar>
      <Uncompared problem={base.problem} />
      <div class="halves upper">
        <div class="pane">
          <Functions rows={rows} regions={regions} />
        </div>
      </div>
      <div class="halves">
        <div class="pane">
          <WholeRun what="Files" ranks />
          {files.data ? (
            <Files files={files.data} before={base.data} />
          ) : (
            <Empty title="No files without a trace">Bytes and time of each file are in the trace: spartito run --io --trace.</Empty>
          )}
        </div>
      </div>
    </>
  );
}
