// SPDX-License-Identifier: BSD-3-Clause
/** The rows of a timeline: processes in the order of ranks, with their threads and tasks; which rows are visible. */
import type { Task as AnyTask } from "./contract";
import type { Facts } from "./facts";

export const ROW = 22; // px; smallest height of a closed row
export const TALL = 44; // px; largest height, if there are few rows
export const LANE = 18; // px; height of a level in an open row's call stack
export const PAD = 4; // px; space below the levels of an open row
const MAX_SHOWN_AT_FIRST = 400; // rows above which threads and tasks are hidden at first

export type Task = Pick<AnyTask, "id" | "name" | "process" | "location" | "region" | "created" | "begin" | "end" | "running" | "waiting" | "state">;

export interface Row {
  kind: "thread" | "task";
  key: string; // identifies the row when others are added or removed
  process: number; // index
  location: number; // index; of a task: the location that ran it last, or -1
  task: number; // index in the given tasks; -1: the row is no task
  label: string;
  detail: string; // text that does not fit into the label
  main: boolean; // the first row of its process
  threads: number; // for the first row of a process: number of its other threads
  tasks: number; // for the first row of a process: number of its tasks
}

export interface Shown {
  opened: ReadonlySet<string>; // keys of rows with open call stack
  lanes: (row: Row) => number; // depth of the call stack in an open row
  threads: ReadonlySet<number>; // processes whose threads are shown or hidden contrary to threadsAtFirst()
  tasks: ReadonlySet<number>; // processes whose tasks are shown
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

function processOrder(facts: Facts): number[] {
  const rank = (p: number): number => facts.processes[p]!.rank ?? Number.POSITIVE_INFINITY;
  const order = facts.processes.map((_, i) => i);
  // Infinity - Infinity is NaN
  return order.sort((a, b) => (rank(a) === rank(b) ? a - b : rank(a) < rank(b) ? -1 : 1));
}

function byProcess<T extends { process: number }>(list: readonly T[], processes: number): number[][] {
  const found: number[][] = Array.from({ length: processes }, () => []);
  list.forEach((item, i) => found[item.process]?.push(i));
  return found;
}

/** Whether threads are shown at first. */
export function threadsAtFirst(facts: Facts): boolean {
  return facts.locations.length <= MAX_SHOWN_AT_FIRST;
}

function threadRow(facts: Facts, location: number, main: boolean, threads: number, tasks: number): Row {
  const { process, name } = facts.locations[location]!;
  const named = main && facts.processes.length > 1; // the label is the process
  return {
    kind: "thread",
    key: `l${location}`,
    process,
    location,
    task: -1,
    label: named ? processLabel(facts, process) : name,
    detail: named && threads > 0 ? name : "",
    main,
    threads,
    tasks,
  };
}

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
    threads: 0,
    tasks: 0,
  };
}

export function listRows(facts: Facts, tasks: readonly Task[], shown: Shown): Row[] {
  const locations = byProcess(facts.locations, facts.processes.length);
  const ofTasks = byProcess(tasks, facts.processes.length);
  const atFirst = threadsAtFirst(facts);
  const rows: Row[] = [];
  for (const process of processOrder(facts)) {
    const here = locations[process]!;
    const seen = atFirst !== shown.threads.has(process) ? here : here.slice(0, 1);
    seen.forEach((location, i) => {
      rows.push(i ? threadRow(facts, location, false, 0, 0) : threadRow(facts, location, true, here.length - 1, ofTasks[process]!.length));
    });
    if (shown.tasks.has(process)) for (const task of ofTasks[process]!) rows.push(taskRow(tasks[task]!, task));
  }
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
    const lanes = rows.map((row) => (shown.opened.has(row.key) ? Math.max(shown.lanes(row), 1) * LANE + PAD : 0));
    const left = (shown.room ?? 0) - lanes.reduce((sum, px) => sum + px, 0);
    this.row = Math.min(Math.max(Math.floor(left / Math.max(rows.length, 1)), ROW), TALL);
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
