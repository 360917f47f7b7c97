// SPDX-License-Identifier: BSD-3-Clause
// Tasks of asyncio and other libraries: the time in which they ran, waited, and for what.
import { useMemo, useState } from "preact/hooks";
import { type Against, Uncompared, changeColumns, useAgainst, useBase } from "../parts/against";
import { both } from "../data/change";
import type { Columns } from "../data/columns";
import type { Task, TaskGroup, TaskWait, Tasks } from "../data/contract";
import type { Facts, Regions } from "../data/facts";
import { useAnswer, useFacts, useRegions, useReport, useSelection, useStore } from "../state/hooks";
import { useHighlighted } from "../state/highlighted";
import { Empty, Waiting } from "../parts/Empty";
import { Toolbar } from "../parts/Menu";
import { Rows, type RowColumn } from "../parts/Rows";
import { WholeRun } from "../parts/WholeRun";
import { placeName, regionNamed } from "../data/stacks";
import { count, time, timeUnit } from "../data/units";

const UNKNOWN = "(not known)";
const asTasks = (columns: Columns<"tasks">): Tasks => columns.meta;

function waited({ waits }: { waits: TaskWait[] }): string {
  const parts = waits.map((w) => `${time(w.time)} ${w.where ?? UNKNOWN}${w.what ? ` (${w.what.split(".").pop()})` : ""}`);
  return parts.join(", ");
}

function ended(states: Record<string, number>): string {
  return Object.entries(states)
    .map(([state, n]) => `${count(n)} ${state}`)
    .join(", ");
}

/** Groups of the other run, by the name of their coroutine in this run. */
type Before = ReadonlyMap<string | null, TaskGroup>;

function beforeOf(tasks: Tasks, against: Against): Before {
  return new Map(tasks.groups.map((g) => [g.name && against.name(g.name), g]));
}

interface GroupsProps {
  groups: readonly TaskGroup[];
  before: Before | undefined;
  regions: Regions;
  chosen: TaskGroup | undefined;
  choose: (group: TaskGroup | undefined) => void;
}

function Groups({ groups, before, regions, chosen, choose }: GroupsProps) {
  const store = useStore();
  const { region: selected } = useSelection();
  const highlighted = useHighlighted();
  const regionOf = (g: TaskGroup): number | undefined => (g.name === null ? undefined : regionNamed(regions, g.name));
  const stays = (g: TaskGroup): boolean => !highlighted || highlighted[regionOf(g) ?? -1] === 1;
  const most = Math.max(...groups.map((g) => g.running + g.waiting), 0);
  const columns: RowColumn<TaskGroup>[] = useMemo(
    () => [
      { id: "name", title: "Outermost coroutine", width: "minmax(180px, 1fr)", value: (g) => g.name ?? UNKNOWN },
      { id: "tasks", title: "Tasks", width: "76px", value: (g) => g.tasks, cell: (g) => count(g.tasks) },
      { id: "running", title: "Running", width: "116px", time: true, value: (g) => g.running, bar: (g) => g.running / most },
      ...(before ? changeColumns((g: TaskGroup) => ({ now: g.running, before: before.get(g.name)?.running ?? 0 }), "ran before") : []),
      { id: "waiting", title: "Waiting", width: "116px", time: true, value: (g) => g.waiting, bar: (g) => g.waiting / most },
      ...(before ? changeColumns((g: TaskGroup) => ({ now: g.waiting, before: before.get(g.name)?.waiting ?? 0 }), "waited before") : []),
      { id: "longest", title: "Longest wait", width: "136px", time: true, value: (g) => g.longest },
      { id: "steps", title: "Steps", width: "76px", value: (g) => g.steps, cell: (g) => count(g.steps) },
      { id: "ended", title: "Ended", width: "150px", value: (g) => ended(g.states) },
      { id: "waits", title: "Waited for", width: "minmax(160px, 1fr)", value: waited },
    ],
    [groups, before],
  );
  return (
    <Rows
      label="Tasks by their outermost coroutine"
      rows={groups}
      columns={columns}
      by="waiting"
      selected={(g) => (chosen ? g === chosen : selected !== undefined && regionOf(g) === selected)}
      onSelect={(g) => {
        choose(g === chosen ? undefined : g);
        const region = regionOf(g);
        if (region !== undefined) store.select({ region }, "replace");
      }}
      rowClass={(g) => (stays(g) ? "" : "faded")}
    />
  );
}

function List({ tasks, facts, all }: { tasks: readonly Task[]; facts: Facts; all: Tasks }) {
  const store = useStore();
  const most = tasks.reduce((longest, t) => Math.max(longest, t.running + t.waiting), 0);
  const names = useMemo(() => new Map(all.tasks.map((t) => [t.id, t.name])), [all]);
  const columns: RowColumn<Task>[] = useMemo(
    () => [
      { id: "name", title: "Task", width: "minmax(120px, 1fr)", value: (t) => t.name || `task ${t.id}` },
      { id: "region", title: "Coroutine", width: "minmax(140px, 1fr)", value: (t) => t.region ?? UNKNOWN },
      { id: "begin", title: "Begin", width: "90px", time: true, unit: timeUnit(facts.duration), value: (t) => t.begin },
      { id: "running", title: "Running", width: "116px", time: true, value: (t) => t.running, bar: (t) => t.running / most },
      { id: "waiting", title: "Waiting", width: "116px", time: true, value: (t) => t.waiting, bar: (t) => t.waiting / most },
      { id: "steps", title: "Steps", width: "70px", value: (t) => t.steps, cell: (t) => count(t.steps) },
      { id: "state", title: "State", width: "90px", value: (t) => t.state },
      { id: "where", title: "Ran in", width: "120px", value: (t) => placeName(facts, t.location) },
      { id: "creator", title: "Made by", width: "100px", value: (t) => (t.creator === null ? "" : (names.get(t.creator) ?? `task ${t.creator}`)) },
      { id: "waits", title: "Waited for", width: "minmax(140px, 1fr)", value: waited },
    ],
    [tasks, facts],
  );
  const open = (t: Task): void => store.select({ begin: t.created, end: t.end, ...(t.location !== null && { location: t.location, process: undefined }) });
  return <Rows label="Tasks" rows={tasks} columns={columns} by="waiting" onOpen={open} />;
}

function notes(tasks: Tasks): string {
  const { unlisted, never, handed } = tasks;
  const parts = [];
  if (unlisted) parts.push(`${count(unlisted)} are in the sums alone: more than --task-limit lists one by one`);
  if (never) parts.push(`${count(never)} were created, but never begun`);
  if (handed.given)
    parts.push(
      `${count(handed.given)} calls given to the threads of pools, ${count(handed.taken)} begun there, after ${time(handed.waited)} in total, at most ${time(handed.longest)}`,
    );
  return parts.join("; ");
}

function againstText(now: Tasks, base: Tasks): string {
  const sum = ({ groups }: Tasks, what: "running" | "waiting"): number => groups.reduce((all, g) => all + g[what], 0);
  const parts = (["running", "waiting"] as const).map((what) => `${what} ${both(time, { now: sum(now, what), before: sum(base, what) })}`);
  return `against the other run's ${count(base.count)} tasks: ${parts.join("; ")}`;
}

export function TasksView() {
  const facts = useFacts();
  const { process, location, begin, end } = useSelection();
  const answer = useAnswer("tasks", {}, asTasks);
  const regions = useRegions();
  const [group, choose] = useState<TaskGroup | undefined>(undefined);
  const tasks = answer.data;
  const against = useAgainst();
  const base = useBase("tasks", {}, asTasks);
  const before = useMemo(() => (base.data && against ? beforeOf(base.data, against) : undefined), [base.data, against]);
  const shown = useMemo(
    () =>
      tasks?.tasks.filter(
        (t) =>
          (!group || t.region === group.name) &&
          (process === undefined || t.process === process) &&
          (location === undefined || t.location === location) &&
          t.created < (end ?? Infinity) &&
          t.end > (begin ?? 0),
      ) ?? [],
    [tasks, group, process, location, begin, end],
  );
  useReport(() =>
    tasks && { ready: !base.loading, before: before && [...before].map(([name, g]) => [name, g.running, g.waiting]), count: tasks.count, groups: tasks.groups.map((g) => [g.name, g.tasks, g.running, g.waiting]), tasks: shown.length, longest: shown[0]?.waiting },
  );
  if (!tasks || !regions.data) return <Waiting problem={answer.problem ?? regions.problem} what="the tasks" />;
  const running = tasks.groups.reduce((sum, g) => sum + g.running, 0);
  const waiting = tasks.groups.reduce((sum, g) => sum + g.waiting, 0);
  return (
    <>
      <Toolbar status="Enter or a double click on a task selects its time">
        <b>{`${count(tasks.count)} tasks ran ${time(running)} and waited ${time(waiting)} in total`}</b>
        {base.data && <span>{againstText(tasks, base.data)}</span>}
      </Toolbar>
      <Uncompared problem={base.problem} />
      {notes(tasks) && <p class="note">{notes(tasks)}</p>}
      <WholeRun what="Sums and times" ranks />
      <div class="halves upper">
        <div class="pane">
          <Groups groups={tasks.groups} before={before} regions={regions.data} chosen={group} choose={choose} />
        </div>
      </div>
      <div class="halves">
        <div class="pane">
          <h2>{`${count(shown.length)} tasks${group ? ` of ${group.name ?? UNKNOWN}` : ""}`}</h2>
          {shown.length ? <List tasks={shown} facts={facts} all={tasks} /> : <Empty title="No task is left">Take back the rank, thread, range of time or group.</Empty>}
        </div>
      </div>
    </>
  );
}
