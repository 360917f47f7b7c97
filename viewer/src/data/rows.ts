// SPDX-License-Identifier: BSD-3-Clause
/** The rows of a time line: processes in the order of their ranks, their threads and their tasks; which of them are on the screen. */
import type { Task as AnyTask } from "./contract";
import type { Facts } from "./facts";

export const ROW = 22; // px; of a row that is closed, at least
export const TALL = 44; // and at most: where there are few rows, they use the room
export const LANE = 18; // px; of one depth of an open row's call stack
export const PAD = 4; // px; below the lanes of an open row
const MANY = 400; // rows; from here on threads and tasks are not shown before they are asked for

export type Task = Pick<AnyTask, "id" | "name" | "process" | "location" | "region" | "created" | "begin" | "end" | "running" | "waiting" | "state">;

export interface Row {
  kind: "thread" | "task";
  key: string; // stays the same when rows come and go
  process: number; // index
  location: number; // index; of a task: the one that ran it last, or -1
  task: number; // index in the tasks given; -1: none
  label: string;
  detail: string; // what the label leaves out
  main: boolean; // the first row of its process
  threads: number; // of a process' first row: how many others it has
  tasks: number; // and how many tasks
}

export interface Shown {
  opened: ReadonlySet<string>; // keys of rows whose call stack is open
  lanes: (row: Row) => number; // how deep the call stack of an open row is
  threads: ReadonlySet<number>; // processes whose threads are not as they are by themselves
  tasks: ReadonlySet<number>; // processes whose tasks are shown
  room?: number; // px; that rows may fill
}

/** "rank 3", or what tells the process from the others. */
export function processLabel(facts: Facts, process: number): string {
  const p = facts.processes[process];
  if (!p) return `process ${process}`;
  return p.rank !== null ? `rank ${p.rank}` : p.name || `process ${p.pid}`;
}

/** A thread's name; with its process where there are several. */
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
  // Infinity minus itself is no number
  return order.sort((a, b) => (rank(a) === rank(b) ? a - b : rank(a) < rank(b) ? -1 : 1));
}

function byProcess<T extends { process: number }>(list: readonly T[], processes: number): number[][] {
  const found: number[][] = Array.from({ length: processes }, () => []);
  list.forEach((item, i) => found[item.process]?.push(i));
  return found;
}

/** Whether the threads of processes are shown before anything was chosen. */
export function threadsAtFirst(facts: Facts): boolean {
  return facts.locations.length <= MANY;
}

function threadRow(facts: Facts, location: number, main: boolean, threads: number, tasks: number): Row {
  const { process, name } = facts.locations[location]!;
  const named = main && facts.processes.length > 1; // by its process
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

/** Where each row lies: its top, and with one more entry where all end. */
export class Layout {
  readonly tops: Float64Array;
  readonly row: number; // px; of a row's own line

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

  /** Index of the row at y; the first above and the last below all of them; -1: there is none. */
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

  /** First row, and the one after the last, that are seen between two heights. */
  visible(top: number, bottom: number): [number, number] {
    if (this.rows.length === 0 || bottom <= top) return [0, 0];
    const last = this.at(bottom);
    return [this.at(top), this.tops[last]! < bottom ? last + 1 : last];
  }

  /** The depth in the open call stack at y, from 0; -1: in the row's own line or below the lanes. */
  lane(index: number, y: number): number {
    const at = y - this.tops[index]! - this.row;
    const lanes = Math.floor((this.tops[index + 1]! - this.tops[index]! - this.row - PAD) / LANE);
    const lane = Math.floor(at / LANE);
    return at >= 0 && lane < lanes ? lane : -1;
  }

  /** How far to scroll so that the row is seen, from a place at which so much is seen. */
  scrollTo(index: number, from: number, height: number): number {
    const top = this.tops[index]!;
    const bottom = Math.min(this.tops[index + 1]!, top + height);
    if (top < from) return top;
    return bottom > from + height ? bottom - height : from;
  }
}

/** Locations in blocks, of which one question is about one: first and last index. */
export const BLOCK = 64;
export function blocksOf(locations: Iterable<number>): number[] {
  const found = new Set<number>();
  for (const location of locations) if (location >= 0) found.add(Math.floor(location / BLOCK));
  return [...found].sort((a, b) => a - b);
}
