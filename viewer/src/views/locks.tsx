// SPDX-License-Identifier: BSD-3-Clause
// Locks and waits: waiters, what they waited for, and lock holders.
import { useMemo, useState } from "preact/hooks";
import { colourOf } from "../draw/curvedraw";
import type { Facts, Regions } from "../data/facts";
import { useAnswer, useDark, useFacts, useRegions, useReport, useSelection, useSize, useStore } from "../state/hooks";
import { type By, type LockWait, type Locks, type Node, SUMS, type SumRow, asLocks, byObject, flowOf, shortObject, summed } from "../data/locks";
import { Empty, Waiting } from "../parts/Empty";
import { Choice, Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { useStackRows } from "../state/stackrows";
import { placeName, shortStack } from "../data/stacks";
import { count, shorten, time } from "../data/units";
import { DeadlockCycle } from "../charts/deadlockcycle";

const BAR = 10; // px; width of a node
const LABEL = 7;

const LINE = 12; // px; lowest distance of two labels
const LETTER = 7; // px; mean width

const lettersOf = (text: string): number => text.length * LETTER;

/** Whether a node is far enough below the one before it for a label. */
const named = (nodes: readonly Node[], i: number): boolean => {
  const middle = (of: Node): number => of.y + of.height / 2;
  return i === 0 || middle(nodes[i]!) - middle(nodes[i - 1]!) >= LINE;
};

interface GraphProps {
  locks: Locks;
  waits: readonly LockWait[];
  facts: Facts;
  chosen: number | undefined;
  choose: (object: number | undefined) => void;
}

/** Waiting threads at the left, objects in the middle, lock holders at the right. */
function Graph({ locks, waits, facts, chosen, choose }: GraphProps) {
  const store = useStore();
  const dark = useDark();
  const { location } = useSelection();
  const [box, { width, height }] = useSize<HTMLDivElement>();
  const flow = useMemo(() => flowOf(waits, height), [waits, height]);
  const x = [LABEL, (width - BAR) / 2, width - BAR - LABEL] as const;
  const name = (column: number, id: number): string => (id < 0 ? "others" : column === 1 ? locks.objects[id]!.name : placeName(facts, id));
  // the labels of objects end where those of lock holders begin
  const holders = flow.columns[2]!.reduce((most, { id }) => Math.max(most, lettersOf(name(2, id))), 0);
  const most = [(width - 3 * BAR) / 2 - 3 * LABEL, Math.max((width - 3 * BAR) / 2 - 4 * LABEL - holders, width / 4), width / 2] as const;
  const label = (column: number, id: number): string => shorten(column === 1 ? shortObject(name(column, id)) : name(column, id), most[column as 0 | 1 | 2], lettersOf);
  const select = (column: number, id: number): void => {
    if (id < 0) return;
    if (column === 1) choose(id === chosen ? undefined : id);
    else store.select({ location: id === location ? undefined : id }, "replace");
  };
  return (
    <div class="canvas flow" ref={box}>
      <svg width={width} height={height} role="img" aria-label="Waiters, what they waited for, and lock holders; the tables below have the same numbers.">
        {flow.ribbons.map((r) => {
          const [from, to] = [x[r.step] + BAR, x[r.step + 1]!];
          const middle = (from + to) / 2;
          const [one, other] = [flow.columns[r.step]![r.from]!, flow.columns[r.step + 1]![r.to]!];
          return (
            <path d={`M${from} ${r.y0}C${middle} ${r.y0} ${middle} ${r.y1} ${to} ${r.y1}`} stroke={colourOf(r.object, dark)} stroke-width={r.thick} fill="none" opacity="0.4">
              <title>{`${name(r.step, one.id)} ${r.step ? "was held by" : "waited for"} ${name(r.step + 1, other.id)}: ${time(r.time)}`}</title>
            </path>
          );
        })}
        {flow.columns.map((nodes, column) =>
          nodes.map((node, i) => (
            <g key={`${column} ${node.id}`} class="link" onClick={() => select(column, node.id)}>
              <rect x={x[column]} y={node.y} width={BAR} height={node.height} fill={column === 1 ? colourOf(i, dark) : "var(--soft)"} />
              {named(nodes, i) && <text
                x={column === 2 ? x[2] - LABEL : x[column]! + BAR + LABEL}
                y={node.y + node.height / 2}
                dominant-baseline="middle"
                text-anchor={column === 2 ? "end" : "start"}
                font-weight={node.id === (column === 1 ? chosen : location) ? "bold" : "normal"}
                fill="var(--ink)"
              >
                {label(column, node.id)}
              </text>}
              <title>{`${name(column, node.id)}: ${["waited", "was waited for", "held what others waited for"][column]} ${time(node.time)}`}</title>
            </g>
          )),
        )}
      </svg>
    </div>
  );
}

function Objects({ locks, rows, chosen, choose }: { locks: Locks; rows: readonly SumRow[]; chosen: number | undefined; choose: (object: number | undefined) => void }) {
  const most = rows[0]?.time ?? 0;
  const of = (row: SumRow) => locks.objects[row.of.object]!;
  const columns: RowColumn<SumRow>[] = useMemo(
    () => [
      { id: "what", title: "Waited for", width: "minmax(120px, 1fr)", value: (r) => shortObject(of(r).name), full: (r) => of(r).name },
      { id: "time", title: "Waited", width: "100px", time: true, value: (r) => r.time, bar: (r) => r.time / most },
      { id: "count", title: "Waits", width: "64px", value: (r) => r.count, cell: (r) => count(r.count) },
      { id: "threads", title: "By", hint: "Number of threads", width: "44px", value: (r) => r.threads, cell: (r) => count(r.threads) },
      { id: "acquired", title: "Acquired", hint: "Number of acquisitions", width: "84px", value: (r) => of(r).acquired, cell: (r) => (of(r).acquired ? count(of(r).acquired) : "–") },
      { id: "held", title: "Held", hint: "Hold time since the first wait for it", width: "88px", time: true, value: (r) => of(r).held },
    ],
    [locks, rows],
  );
  return <Rows label="Objects" rows={rows} columns={columns} by="time" selected={(r) => r.of.object === chosen} onSelect={(r) => choose(r.of.object === chosen ? undefined : r.of.object)} />;
}

function Where({ locks, waits, facts, regions }: { locks: Locks; waits: readonly LockWait[]; facts: Facts; regions: Regions }) {
  const stack = (w: LockWait): string[] => locks.stacks[w.stack] ?? [];
  const holder = (w: LockWait): string => (w.holder === null ? "" : `${placeName(facts, w.holder)} in ${shortStack((locks.stacks[w.holder_stack] ?? []).slice(-1))}`);
  const most = waits.reduce((longest, w) => Math.max(longest, w.time), 0);
  const columns: RowColumn<LockWait>[] = useMemo(
    () => [
      { id: "where", title: "Where", width: "minmax(200px, 1fr)", value: (w) => shortStack(stack(w)), full: (w) => [...stack(w), w.at].join("\n→ ") },
      { id: "what", title: "For", width: "minmax(120px, 0.6fr)", value: (w) => shortObject(locks.objects[w.object]!.name), full: (w) => locks.objects[w.object]!.name },
      { id: "who", title: "Waiter", width: "110px", value: (w) => placeName(facts, w.location) },
      { id: "holder", title: "Lock holder", width: "minmax(110px, 0.6fr)", value: holder, full: (w) => (locks.stacks[w.holder_stack] ?? []).join("\n→ ") },
      { id: "time", title: "Time", width: "110px", time: true, value: (w) => w.time, bar: (w) => w.time / most },
      { id: "longest", title: "Longest", width: "92px", time: true, value: (w) => w.longest },
      { id: "count", title: "Waits", width: "92px", value: (w) => w.count, cell: (w) => `${count(w.count)}${w.open ? ", not ended" : ""}` },
    ],
    [locks, waits, facts],
  );
  return <Rows label="Waits by call path" rows={waits} columns={columns} by="time" {...useStackRows(regions, stack, () => "callers")} />;
}

interface SumsProps {
  locks: Locks;
  rows: readonly SumRow[];
  by: "paths" | "threads";
  facts: Facts;
  regions: Regions;
}

/** Contention by call path, or by pair of waiter and lock holder. */
function Sums({ locks, rows, by, facts, regions }: SumsProps) {
  const stack = (row: SumRow): string[] => locks.stacks[row.of.stack] ?? [];
  const most = rows[0]?.time ?? 0;
  const holder = (row: SumRow): string => (row.of.holder === null ? "none, or not known" : placeName(facts, row.of.holder));
  const columns: RowColumn<SumRow>[] = useMemo(
    () => [
      ...(by === "paths"
        ? [
            { id: "where", title: "Where", width: "minmax(200px, 1fr)", value: (r: SumRow) => shortStack(stack(r)), full: (r: SumRow) => [...stack(r), r.of.at].join("\n→ ") },
            { id: "threads", title: "Threads", width: "72px", value: (r: SumRow) => r.threads, cell: (r: SumRow) => count(r.threads) },
          ]
        : [
            { id: "who", title: "Waiter", width: "minmax(140px, 1fr)", value: (r: SumRow) => placeName(facts, r.of.location) },
            { id: "holder", title: "Lock holder", width: "minmax(140px, 1fr)", value: holder },
          ]),
      { id: "objects", title: "For", hint: "Number of objects", width: "64px", value: (r) => r.objects, cell: (r) => count(r.objects) },
      { id: "time", title: "Time", width: "110px", time: true, value: (r) => r.time, bar: (r) => r.time / most },
      { id: "longest", title: "Longest", width: "92px", time: true, value: (r) => r.longest },
      { id: "count", title: "Waits", width: "92px", value: (r) => r.count, cell: (r) => count(r.count) },
    ],
    [locks, rows, by, facts],
  );
  return <Rows key={by} label={`Waits, ${SUMS[by].title.toLowerCase()}`} rows={rows} columns={columns} by="time" {...useStackRows(regions, stack, () => "callers")} />;
}

export function LocksView() {
  const facts = useFacts();
  const { process, location } = useSelection();
  const answer = useAnswer("locks", {}, asLocks);
  const regions = useRegions();
  const [chosen, choose] = useState<number | undefined>(undefined);
  const locks = answer.data;
  const here = useMemo(() => {
    const mine = (at: number | null): boolean => at !== null && (location === undefined || at === location) && (process === undefined || facts.locations[at]?.process === process);
    return locks?.waits.filter((w) => mine(w.location) || mine(w.holder)) ?? [];
  }, [locks, process, location, facts]);
  const rows = useMemo(() => summed(here, byObject), [here]);
  const waits = useMemo(() => here.filter((w) => chosen === undefined || w.object === chosen), [here, chosen]);
  const [by, setBy] = useState<By>("waits");
  const sums = useMemo(() => (by === "waits" ? [] : summed(waits, SUMS[by].key)), [waits, by]);
  const total = here.reduce((sum, w) => sum + w.time, 0);
  useReport(() => ({
    ready: Boolean(locks && regions.data),
    total,
    deadlocks: locks?.deadlocks,
    cycles: locks?.cycles.map((cycle) => cycle.map(({ location, lock }) => [placeName(facts, location), lock])),
    sums: sums.slice(0, 20).map((row) => [placeName(facts, row.of.location), row.of.holder === null ? null : placeName(facts, row.of.holder), shortStack(locks!.stacks[row.of.stack] ?? []), row.time, row.count, row.threads]),
    objects: locks && rows.map((r) => [locks.objects[r.of.object]!.name, r.time, r.count, r.threads]),
    waits: waits.slice(0, 20).map((w) => [locks!.objects[w.object]!.name, placeName(facts, w.location), w.holder === null ? null : placeName(facts, w.holder), w.time, w.count]),
  }));
  if (!locks || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the waits" />;
  return (
    <>
      <Toolbar hint="A click on what was waited for shows its waits alone; one on a thread selects it">
        <Choice label="Waits by" value={by} options={Object.entries(SUMS).map(([value, { title, hint }]) => ({ value, title, hint }))} onChange={(value) => setBy(value as By)} />
        <b>{`${time(total)} waited for ${count(rows.length)} objects`}</b>
      </Toolbar>
      {locks.deadlocks.length > 0 && (
        <p class="note problem" style={{ whiteSpace: "pre-wrap" }}>
          {locks.deadlocks.join("\n")}
        </p>
      )}
      {locks.cycles.map((cycle, i) => (
        <DeadlockCycle key={i} names={cycle.map(({ location }) => placeName(facts, location))} locks={cycle.map(({ lock }) => lock)} />
      ))}
      {locks.hidden > 0 && <p class="note">{`${count(locks.hidden)} shorter waits are not listed; spartito report waits --limit 0 lists them.`}</p>}
      <WholeRun what="Waits" />
      {here.length === 0 ? (
        <Empty title="No waits here">Clear the process or the thread above.</Empty>
      ) : (
        <>
          <div class="halves upper even">
            <Graph locks={locks} waits={waits} facts={facts} chosen={chosen} choose={choose} />
            <div class="side">
              <Objects locks={locks} rows={rows} chosen={chosen} choose={choose} />
            </div>
          </div>
          <div class="halves">
            <div class="pane">
              {by === "waits" ? (
                <Where locks={locks} waits={waits} facts={facts} regions={regions.data} />
              ) : (
                <Sums locks={locks} rows={sums} by={by} facts={facts} regions={regions.data} />
              )}
            </div>
          </div>
        </>
      )}
    </>
  );
}
