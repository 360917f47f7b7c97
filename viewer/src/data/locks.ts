// SPDX-License-Identifier: BSD-3-Clause
// The answer of the kind "locks": waits of threads, and lock holders. Times are seconds.
import type { Columns } from "./columns";
import type { LockWait, Locks } from "./contract";

export type { LockWait, Locks };
export const asLocks = (columns: Columns<"locks">): Locks => columns.meta;

/** The name of an object without the directories of the line that made it: "Lock at archive.py:34". */
export const shortObject = (name: string): string => name.replace(/ made at (?:.*[/\\])?/, " at ");

/** The sum of waits with the same key. */
export interface SumRow {
  /** One of the waits, for their common properties. */
  of: LockWait;
  time: number;
  longest: number;
  count: number;
  threads: number;
  objects: number;
}

export const SUMS = {
  waits: { title: "Single waits", hint: "Each thread, call path, object and lock holder", key: undefined },
  paths: { title: "Call paths", hint: "Where threads waited", key: (w: LockWait): string => `${w.stack} ${w.at}` },
  threads: { title: "Waiter and holder", hint: "Which thread waited for a lock, and which thread held it", key: (w: LockWait): string => `${w.location} ${w.holder}` },
} as const;
export type By = keyof typeof SUMS;
export const byObject = (w: LockWait): string => String(w.object);

/** In descending order of time. */
export function summed(waits: readonly LockWait[], key: (w: LockWait) => string): SumRow[] {
  const found = new Map<string, SumRow & { who: Set<number>; what: Set<number> }>();
  for (const w of waits) {
    let row = found.get(key(w));
    if (!row) found.set(key(w), (row = { of: w, time: 0, longest: 0, count: 0, threads: 0, objects: 0, who: new Set(), what: new Set() }));
    row.time += w.time;
    row.longest = Math.max(row.longest, w.longest);
    row.count += w.count;
    row.threads = row.who.add(w.location).size;
    row.objects = row.what.add(w.object).size;
  }
  return [...found.values()].sort(longer);
}

const longer = (a: { time: number }, b: { time: number }): number => b.time - a.time;

/** A node in a column of the picture: waiter, object, or lock holder. */
export interface Node {
  /** -1: the sum of all others. */
  id: number;
  time: number;
  y: number;
  height: number;
}
export interface Ribbon {
  /** 0: from waiter to object, 1: from object to lock holder. */
  step: 0 | 1;
  /** Indices of the nodes in their columns. */
  from: number;
  to: number;
  /** Index of the object in the middle column. */
  object: number;
  time: number;
  /** y of the middle of both ends, and thickness. */
  y0: number;
  y1: number;
  thick: number;
}
export interface Flow {
  columns: [Node[], Node[], Node[]];
  ribbons: Ribbon[];
}

const SHOWN = 12; // nodes of a column; the others are combined
const GAP = 12; // px; a label is as high
const MIN_HEIGHT = 2;

/** The picture of waiters, objects and lock holders with this height. */
export function flowOf(waits: readonly LockWait[], height: number): Flow {
  const ids: ((w: LockWait) => number | null)[] = [(w) => w.location, (w) => w.object, (w) => w.holder];
  const columns = ids.map((id) => {
    const sums = new Map<number, number>();
    for (const w of waits) if (id(w) !== null) sums.set(id(w)!, (sums.get(id(w)!) ?? 0) + w.time);
    const nodes = [...sums].map(([of, time]): Node => ({ id: of, time, y: 0, height: 0 })).sort(longer);
    const rest = nodes.splice(SHOWN).reduce((sum, node) => sum + node.time, 0);
    return rest > 0 ? [...nodes, { id: -1, time: rest, y: 0, height: 0 }] : nodes;
  }) as Flow["columns"];
  const whole = waits.reduce((sum, w) => sum + w.time, 0) || 1;
  const most = Math.max(...columns.map((nodes) => nodes.length), 1);
  const scale = Math.max(height - GAP * most - MIN_HEIGHT * most, 0) / whole;
  for (const nodes of columns) {
    let y = GAP / 2;
    for (const node of nodes) {
      node.y = y;
      node.height = MIN_HEIGHT + node.time * scale;
      y += node.height + GAP;
    }
  }
  const at = (column: number, id: number): number => {
    const found = columns[column]!.findIndex((node) => node.id === id);
    return found < 0 ? columns[column]!.length - 1 : found;
  };
  const sums = new Map<string, Ribbon>();
  for (const w of waits) {
    const nodes = [at(0, w.location), at(1, w.object), w.holder === null ? -1 : at(2, w.holder)] as const;
    for (const step of [0, 1] as const) {
      const [from, to] = [nodes[step], nodes[step + 1]!];
      if (to < 0) continue;
      const key = `${step} ${from} ${to}`;
      const ribbon = sums.get(key) ?? { step, from, to, object: nodes[1], time: 0, y0: 0, y1: 0, thick: 0 };
      ribbon.time += w.time;
      sums.set(key, ribbon);
    }
  }
  const ribbons = [...sums.values()].sort((a, b) => a.step - b.step || a.from - b.from || a.to - b.to);
  const used = columns.map((nodes) => nodes.map(() => [0, 0])); // px; used so far at the left and the right of each node
  for (const ribbon of ribbons) {
    const ends = [columns[ribbon.step]![ribbon.from]!, columns[ribbon.step + 1]![ribbon.to]!] as const;
    const room = [used[ribbon.step]![ribbon.from]!, used[ribbon.step + 1]![ribbon.to]!] as const;
    ribbon.thick = Math.max(ribbon.time * scale, 1);
    ribbon.y0 = ends[0].y + room[0][1]! + ribbon.thick / 2;
    ribbon.y1 = ends[1].y + room[1][0]! + ribbon.thick / 2;
    room[0][1]! += ribbon.thick;
    room[1][0]! += ribbon.thick;
  }
  return { columns, ribbons };
}
