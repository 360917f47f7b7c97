// SPDX-License-Identifier: BSD-3-Clause
// The critical path: the functions that the run's duration consists of, and what would make it shorter.
import { useMemo } from "preact/hooks";
import { CriticalPicture } from "../charts/criticalpicture";
import { type Against, Uncompared, changeColumns, useAgainst, useBase } from "../parts/against";
import { both } from "../data/change";
import type { Columns } from "../data/columns";
import type { Critical, CriticalRegion } from "../data/contract";
import type { Facts, Regions } from "../data/facts";
import { useAnswer, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Named } from "../parts/Named";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { placeName, regionNamed } from "../data/stacks";
import { count, percent, time, timeUnit } from "../data/units";

const SHARE = 0.1; // assumed saving of a function: fraction of its time
const asCritical = (columns: Columns<"critical">): Critical => columns.meta;

/** The other run's path, by names and locations of this run. */
interface Before {
  length: number;
  regions: ReadonlyMap<string, number>;
  locations: ReadonlyMap<number, number>;
}

function beforeOf(critical: Critical, against: Against): Before {
  const regions = new Map<string, number>();
  for (const r of critical.regions) regions.set(against.name(r.name), (regions.get(against.name(r.name)) ?? 0) + r.time);
  return { length: critical.length, regions, locations: new Map(critical.locations.map((spent, there) => [against.location(there), spent])) };
}

function Functions({ critical, before, regions }: { critical: Critical; before: Before | undefined; regions: Regions }) {
  const store = useStore();
  const { region } = useSelection();
  const rows = useMemo(() => critical.regions.filter((r) => r.time > 0), [critical]);
  const columns: RowColumn<CriticalRegion>[] = useMemo(
    () => [
      {
        id: "name",
        title: "Function on the path",
        width: "minmax(200px, 1fr)",
        value: (r) => r.name,
        full: (r) => `${r.name}\n${r.file}:${r.line}`,
        cell: (r) => {
          const found = regionNamed(regions, r.name);
          return found === undefined ? r.name : <Named regions={regions} region={found} text={r.name} />;
        },
      },
      { id: "time", title: "Time", hint: "In the function itself, on the path", width: "84px", time: true, value: (r) => r.time },
      { id: "waiting", title: "Waiting", hint: "Of this time its thread waited, in MPI too if that sleeps", width: "92px", time: true, value: (r) => r.waiting },
      {
        id: "share",
        title: "Of the run",
        width: "110px",
        value: (r) => r.time / critical.length,
        cell: (r) => percent(r.time / critical.length),
        bar: (r) => r.time / critical.length,
      },
      ...(before ? changeColumns((r: CriticalRegion) => ({ now: r.time, before: before.regions.get(r.name) ?? 0 })) : []),
      {
        id: "least",
        title: "Saves at least",
        hint: `By which the run gets shorter if the function takes ${percent(SHARE)} less time`,
        width: "136px",
        time: true,
        value: (r) => r.at_least,
      },
      { id: "most", title: "at most", hint: "If nothing else moves onto the critical path", width: "110px", time: true, value: (r) => r.at_most },
    ],
    [critical, before, regions],
  );
  return (
    <Rows
      label="Functions on the critical path"
      rows={rows}
      columns={columns}
      by="time"
      selected={(r) => region !== undefined && regionNamed(regions, r.name) === region}
      onSelect={(r) => store.select({ region: regionNamed(regions, r.name) }, "replace")}
      onOpen={(r) => store.select({ view: "callers", region: regionNamed(regions, r.name) })}
    />
  );
}

function Places({ critical, before, facts }: { critical: Critical; before: Before | undefined; facts: Facts }) {
  const store = useStore();
  const { location } = useSelection();
  const rows = useMemo(() => critical.locations.map((spent, at) => ({ at, spent })).filter((r) => r.spent > 0), [critical]);
  const columns: RowColumn<(typeof rows)[0]>[] = useMemo(
    () => [
      { id: "who", title: "Where the path runs", width: "minmax(110px, 1fr)", value: (r) => placeName(facts, r.at) },
      { id: "time", title: "Time", width: "84px", time: true, value: (r) => r.spent },
      {
        id: "share",
        title: "Of the run",
        width: "110px",
        value: (r) => r.spent,
        cell: (r) => percent(r.spent / critical.length),
        bar: (r) => r.spent / critical.length,
      },
      ...(before ? changeColumns((r: (typeof rows)[0]) => ({ now: r.spent, before: before.locations.get(r.at) ?? 0 })) : []),
    ],
    [critical, before, facts],
  );
  return (
    <Rows
      label="Ranks and threads on the path"
      rows={rows}
      columns={columns}
      by="time"
      selected={(r) => r.at === location}
      onSelect={(r) => store.select({ location: r.at === location ? undefined : r.at, process: undefined }, "replace")}
    />
  );
}

function Pieces({ critical, facts }: { critical: Critical; facts: Facts }) {
  const store = useStore();
  const { begin, end, location } = useSelection();
  const columns: RowColumn<Critical["pieces"][0]>[] = useMemo(
    () => [
      { id: "from", title: "From", width: "92px", time: true, unit: timeUnit(critical.length), value: ([, from]) => from },
      { id: "to", title: "To", width: "92px", time: true, unit: timeUnit(critical.length), value: ([, , to]) => to },
      { id: "who", title: "In", width: "minmax(100px, 1fr)", value: ([at]) => placeName(facts, at) },
      { id: "long", title: "Lasts", width: "92px", time: true, value: ([, from, to]) => to - from, bar: ([, from, to]) => (to - from) / critical.length },
    ],
    [critical, facts],
  );
  return (
    <Rows
      label="Pieces of the path in the order of time"
      rows={critical.pieces}
      columns={columns}
      selected={([at, from, to]) => at === location && from === begin && to === end}
      rowClass={([at, from, to]) => ((location ?? at) === at && from < (end ?? Infinity) && to > (begin ?? 0) ? "" : "faded")}
      onOpen={([at, from, to]) => store.select({ location: at, process: undefined, begin: from, end: to })}
    />
  );
}

function words(critical: Critical, before: Before | undefined, facts: Facts): string {
  const best = critical.locations.reduce((at, v, i) => (v > critical.locations[at]! ? i : at), 0);
  const share = (critical.locations[best] ?? 0) / critical.length;
  const against = before ? ` (against the other run ${both(time, { now: critical.length, before: before.length })})` : "";
  return `The run's ${time(critical.length)}${against} are ${percent(share)} the time of ${placeName(facts, best)}; the path changes between them ${count(critical.jumps)} times`;
}

export function CriticalView() {
  const facts = useFacts();
  const answer = useAnswer("critical", {}, asCritical);
  const regions = useRegions();
  const critical = answer.data;
  const against = useAgainst();
  const base = useBase("critical", {}, asCritical);
  const before = useMemo(() => (base.data && against ? beforeOf(base.data, against) : undefined), [base.data, against]);
  useReport(() =>
    critical && { ready: !base.loading, before: before && { length: before.length, regions: [...before.regions].filter(([, t]) => t > 0) }, length: critical.length, jumps: critical.jumps, locations: critical.locations, regions: critical.regions.filter((r) => r.time > 0).map((r) => [r.name, r.time]) },
  );
  if (!critical || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the critical path" />;
  return (
    <>
      <Toolbar hint="Enter or a double click on a piece selects its time">
        <b>{words(critical, before, facts)}</b>
      </Toolbar>
      <Uncompared problem={base.problem} />
      <WholeRun what="Functions, ranks and threads on the path" ranks />
      <CriticalPicture critical={critical} facts={facts} regions={regions.data} />
      <div class="halves">
        <div class="pane wide">
          <Functions critical={critical} before={before} regions={regions.data} />
        </div>
        <div class="side">
          <Places critical={critical} before={before} facts={facts} />
          <Pieces critical={critical} facts={facts} />
        </div>
      </div>
    </>
  );
}
