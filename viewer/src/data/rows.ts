// SPDX-License-Identifier: BSD-3-Clause
/** The rows of a timeline: processes in the order of ranks, with their threads and tasks; which rows are visible. */
import type { Task as AnyTask } from "./contract";
import type { Facts } from "./facts";
import { count } from "./units";

export const ROW = 22; // px; smallest height of a closed row
export const TALL = 44; // px; largest height, if there are few rows
export const LANE = 18; // px; height of a level in an open row's call stack
export const PAD = 4; // px; space below the levels of an open row
export const [CROWD, CROWD_TALL] = [26, 110]; // px; by which the row of a crowd is higher than others, at least and at most
const MAX_SHOWN_AT_FIRST = 400; // rows above which threads and tasks are hidden at first
const FEW = 48; // threads up to which each has its row
const LEAST = 8; // members of a crowd
const LEAST_RANKS = 129; // of ranks, whose messages lead from row to row
const RANK = "rank";

export type Task = Pick<AnyTask, "id" | "name" | "process" | "location" | "region" | "created" | "begin" | "end" | "running" | "waiting" | "state">;

/** Processes or threads with equal roles, which share a row that can be opened. */
export interface Crowd {
  key: string; // the same in later versions of the run
  role: string;
  process: number; // of its threads; -1: its members are processes
  members: readonly number[]; // processes or locations
  locations: readonly number[]; // ascending
}

export interface Crowds {
  processes: readonly Crowd[];
  threads: ReadonlyMap<number, readonly Crowd[]>; // by process
}

export type Order = "number" | "time" | "begin";

export interface Row {
  kind: "thread" | "task" | "crowd";
  key: string; // identifies the row when others are added or removed
  process: number; // index
  location: number; // index; of a task: the location that ran it last, or -1
  task: number; // index in the given tasks; -1: the row is no task
  label: string;
  detail: string; // text that does not fit into the label
  main: boolean; // the first row of its process
  level: number; // of indentation
  crowd?: Crowd;
  threads: number; // for the first row of a process: number of its other threads
  tasks: number; // for the first row of a process: number of its tasks
}

export interface Shown {
  opened: ReadonlySet<string>; // keys of rows with open call stack
  lanes: (row: Row) => number; // depth of the call stack in an open row
  threads: ReadonlySet<number>; // processes whose threads are shown or hidden contrary to threadsAtFirst()
  tasks: ReadonlySet<number>; // processes whose tasks are shown
  crowds?: Crowds | undefined; // to be folded
  unfolded?: ReadonlySet<string>; // keys of crowds whose members are shown
  order?: Order;
  room?: number; // px; height available for rows
}

/** "rank 3", or a label that distinguishes the process from the others. */
export function processLabel(facts: Facts, process: number): string {
  const p = facts.processes[process];
  if (!p) return `process ${process}`;
  return p.rank !== null ? `rank ${p.rank}` : p.name || `process ${p.pid}`;
}

/** A thread's name, with its process if there are several. */
export function locationLabel(facts: Facts, location: number): string {
  const l = facts.locations[location];
  if (!l) return `thread ${location}`;
  const process = processLabel(facts, l.process);
  const alone = facts.locations.length === facts.processes.length;
  if (facts.processes.length === 1) return l.name;
  return alone ? process : `${process}, ${l.name}`;
}

/** "rank 3", "ForkProcess-3 (4711)": the label of a member of a crowd, without the role that the crowd's label has. */
export function memberLabel(label: string, role: string): string {
  const rest = role !== RANK && label.startsWith(`${role} `) ? label.slice(role.length + 1) : label;
  return /^\([^()]*\)$/.test(rest) ? rest.slice(1, -1) : rest;
}

function byProcess<T extends { process: number }>(list: readonly T[], processes: number): number[][] {
  const found: number[][] = Array.from({ length: processes }, () => []);
  list.forEach((item, i) => found[item.process]?.push(i));
  return found;
}

/** The crowds among some processes or threads. key: begin of their keys. */
function crowdsIn(units: readonly number[], process: number, key: string, roleOf: (unit: number) => string, locations: (unit: number) => readonly number[]): Crowd[] {
  const found = new Map<string, number[]>();
  for (const unit of units) {
    const role = roleOf(unit);
    if (found.has(role)) found.get(role)!.push(unit);
    else found.set(role, [unit]);
  }
  return [...found]
    .filter(([role, members]) => members.length >= (role === RANK ? LEAST_RANKS : LEAST))
    .map(([role, members]) => ({ key: `${key}${role}`, role, process, members, locations: members.flatMap((unit) => locations(unit)).sort((a, b) => a - b) }));
}

/** What a timeline folds; undefined: there are few threads. */
export function crowdsOf(facts: Facts): Crowds | undefined {
  const { processes, locations } = facts;
  if (locations.length <= FEW) return undefined;
  const here = byProcess(locations, processes.length);
  const roleOf = (p: number): string => (processes[p]!.rank !== null ? RANK : processes[p]!.role || processes[p]!.name);
  const ofProcesses = crowdsIn([...processes.keys()], -1, "p", roleOf, (process) => here[process]!);
  const threads = new Map<number, Crowd[]>();
  here.forEach((those, process) => {
    const { host, pid } = processes[process]!;
    const found = crowdsIn(those.slice(1), process, `t${host} ${pid} `, (l) => locations[l]!.role ?? locations[l]!.name, (l) => [l]);
    if (found.length) threads.set(process, found);
  });
  return { processes: ofProcesses, threads };
}

/** Whether the threads of a process are shown at first. */
export function threadsAtFirst(facts: Facts, process: number, crowds?: Crowds): boolean {
  if (!crowds) return facts.locations.length <= MAX_SHOWN_AT_FIRST;
  if (crowds.processes.some(({ members }) => members.includes(process))) return false;
  const folded = [...crowds.threads.values(), crowds.processes].flat();
  return facts.locations.length - folded.reduce((sum, crowd) => sum + crowd.locations.length, 0) <= MAX_SHOWN_AT_FIRST;
}

function threadRow(facts: Facts, location: number, main: boolean, threads: number, tasks: number, level: number, role = ""): Row {
  const { process, name } = facts.locations[location]!;
  const named = main && facts.processes.length > 1; // the label is the process
  return {
    kind: "thread",
    key: `l${location}`,
    process,
    location,
    task: -1,
    label: memberLabel(named ? processLabel(facts, process) : name, role),
    detail: named && threads > 0 ? name : "",
    main,
    level,
    threads,
    tasks,
  };
}

/** The row of a thread that is shown alone. */
export const singleRow = (facts: Facts, location: number): Row => threadRow(facts, location, false, 0, 0, 0);

function taskRow(task: Task, index: number): Row {
  return {
    kind: "task",
    key: `t${index}`,
    process: task.process,
    location: task.location ?? -1,
    task: index,
    label: task.name || `task ${task.id}`,
    detail: task.region ?? "",
    main: false,
    level: 1,
    threads: 0,
    tasks: 0,
  };
}

function crowdRow(crowd: Crowd, process: number, level: number): Row {
  const label = `${crowd.role} × ${count(crowd.members.length)}`;
  return { kind: "crowd", key: crowd.key, process, location: crowd.locations[0]!, task: -1, label, detail: "", main: false, level, threads: 0, tasks: 0, crowd };
}

/** What a row is sorted by: ascending. A crowd has the first number and begin of its members, and the sum of their times. */
function keysOf(facts: Facts, order: Order, locations: readonly (readonly number[])[]) {
  const ofThread = (l: number): number => ({ number: l, time: -facts.locations[l]!.running, begin: facts.locations[l]!.begin })[order];
  const ofProcess = (p: number): number =>
    order === "number" ? (facts.processes[p]!.rank ?? facts.processes.length + p) : locations[p]!.reduce((sum, l) => (order === "time" ? sum + ofThread(l) : Math.min(sum, ofThread(l))), order === "time" ? 0 : Infinity);
  return { ofThread, ofProcess };
}

type Item = { unit: number; crowd?: Crowd | undefined; by: number };

/** Units that are no members of crowds, and crowds, in their order. */
function items(units: readonly number[], crowds: readonly Crowd[], order: Order, keyOf: (unit: number) => number): Item[] {
  const inside = new Map(crowds.flatMap((crowd) => crowd.members.map((unit) => [unit, crowd] as const)));
  const found: Item[] = [];
  const at = new Map<Crowd, Item>();
  for (const unit of units) {
    const crowd = inside.get(unit);
    const known = crowd && at.get(crowd);
    const by = keyOf(unit);
    if (known) {
      known.by = order === "time" ? known.by + by : Math.min(known.by, by);
      continue;
    }
    const item = { unit, crowd, by };
    found.push(item);
    if (crowd) at.set(crowd, item);
  }
  return found.sort((a, b) => a.by - b.by || a.unit - b.unit);
}

export function listRows(facts: Facts, tasks: readonly Task[], shown: Shown): Row[] {
  const { crowds, unfolded, order = "number" } = shown;
  const locations = byProcess(facts.locations, facts.processes.length);
  const ofTasks = byProcess(tasks, facts.processes.length);
  const { ofThread, ofProcess } = keysOf(facts, order, locations);
  const members = new Set(crowds?.processes.flatMap((crowd) => crowd.members));
  const atFirst = threadsAtFirst(facts, -1, crowds);
  const rows: Row[] = [];
  const addThread = (location: number, level: number, role?: string): void => void rows.push(threadRow(facts, location, false, 0, 0, level, role));
  const addCrowd = (crowd: Crowd, process: number, level: number, keyOf: (unit: number) => number, add: (unit: number) => void): void => {
    rows.push(crowdRow(crowd, process, level));
    if (unfolded?.has(crowd.key)) for (const { unit } of items(crowd.members, [], order, keyOf)) add(unit);
  };
  const addProcess = (process: number, level: number, role?: string): void => {
    const [main, ...others] = locations[process]!;
    if (main !== undefined) rows.push(threadRow(facts, main, true, others.length, ofTasks[process]!.length, level, role));
    if ((atFirst && !members.has(process)) !== shown.threads.has(process))
      for (const { unit, crowd } of items(others, crowds?.threads.get(process) ?? [], order, ofThread))
        if (crowd) addCrowd(crowd, process, level + 1, ofThread, (one) => addThread(one, level + 2, crowd.role));
        else addThread(unit, level + 1);
    if (shown.tasks.has(process)) for (const task of ofTasks[process]!) rows.push(taskRow(tasks[task]!, task));
  };
  for (const { unit, crowd } of items([...facts.processes.keys()], crowds?.processes ?? [], order, ofProcess))
    if (crowd) addCrowd(crowd, unit, 0, ofProcess, (process) => addProcess(process, 1, crowd.role));
    else addProcess(unit, 0);
  return rows;
}

/** The top of each row; the last entry is the bottom of all rows. */
export class Layout {
  readonly tops: Float64Array;
  readonly row: number; // px; height of a closed row

  constructor(
    readonly rows: readonly Row[],
    shown: Shown,
  ) {
    this.tops = new Float64Array(rows.length + 1);
    const lanes = rows.map((row) => (row.crowd ? CROWD : shown.opened.has(row.key) ? Math.max(shown.lanes(row), 1) * LANE + PAD : 0));
    const left = (shown.room ?? 0) - lanes.reduce((sum, px) => sum + px, 0);
    this.row = Math.min(Math.max(Math.floor(left / Math.max(rows.length, 1)), ROW), TALL);
    const crowds = rows.reduce((sum, row) => sum + (row.crowd ? 1 : 0), 0);
    if (crowds) {
      const crowd = Math.min(Math.max(CROWD + Math.floor((left - rows.length * this.row) / crowds), CROWD), CROWD_TALL);
      rows.forEach((row, i) => row.crowd && (lanes[i] = crowd));
    }
    lanes.forEach((px, i) => (this.tops[i + 1] = this.tops[i]! + this.row + px));
  }

  get height(): number {
    return this.tops[this.rows.length]!;
  }

  /** Index of the row at y; the nearest one outside of all rows; -1: there are no rows. */
  at(y: number): number {
    let low = 0;
    let high = this.rows.length - 1;
    if (high < 0) return -1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.tops[middle]! <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Indices of the first row, and of the one after the last, between two heights. */
  visible(top: number, bottom: number): [number, number] {
    if (this.rows.length === 0 || bottom <= top) return [0, 0];
    const last = this.at(bottom);
    return [this.at(top), this.tops[last]! < bottom ? last + 1 : last];
  }

  /** The level of the open call stack at y, from 0; -1: the row's first line, or below the levels. */
  lane(index: number, y: number): number {
    if (this.rows[index]!.crowd) return -1;
    const at = y - this.tops[index]! - this.row;
    const lanes = Math.floor((this.tops[index + 1]! - this.tops[index]! - this.row - PAD) / LANE);
    const lane = Math.floor(at / LANE);
    return at >= 0 && lane < lanes ? lane : -1;
  }

  /** The scroll position, in px, at which the row is visible. from, height: the current position and the visible height. */
  scrollTo(index: number, from: number, height: number): number {
    const top = this.tops[index]!;
    const bottom = Math.min(this.tops[index + 1]!, top + height);
    if (top < from) return top;
    return bottom > from + height ? bottom - height : from;
  }
}

/** A query is about a block of locations; these are the indices of the blocks of some locations. */
export const BLOCK = 64;
export function blocksOf(locations: Iterable<number>): number[] {
  const found = new Set<number>();
  for (const location of locations) if (location >= 0) found.add(Math.floor(location / BLOCK));
  return [...found].sort((a, b) => a - b);
}
