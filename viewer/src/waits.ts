// SPDX-License-Identifier: BSD-3-Clause
// What the kind "waits" says, summed up as it is shown.

export interface WaitMetric {
  name: string;
  shown: string;
  what: string;
  kinds: number[];
  parent: number | null;
  count: number;
  time: number;
}

export interface WaitRow {
  kind: number;
  path: number;
  location: number;
  process: number;
  on_location: number | null;
  on: number | null;
  count: number;
  time: number;
  longest: number;
}

export interface Waits {
  metrics: WaitMetric[];
  rows: WaitRow[];
  stacks: Record<string, string[]>;
  found: Record<string, number>;
}

export interface Waiter {
  process: number;
  waited: number; // s that it waited
  caused: number; // s that others waited for it
  count: number;
}

/** What a kind of waiting is called: the metric with the fewest kinds that holds it. */
export function nameOfKind(metrics: readonly WaitMetric[], kind: number): string {
  const all = metrics.filter((metric) => metric.kinds.includes(kind));
  return all.reduce((a, b) => (b.kinds.length < a.kinds.length ? b : a), all[0]!)?.shown ?? `kind ${kind}`;
}

/** How deep a metric stands below others. */
export function depthOf(metrics: readonly WaitMetric[], metric: WaitMetric): number {
  let depth = 0;
  for (let up = metric.parent; up !== null && depth < metrics.length; up = metrics[up]!.parent) depth++;
  return depth;
}

/** Rows of some kinds, of what is selected. */
export function chosenRows(waits: Waits, kinds: readonly number[], process?: number, location?: number): WaitRow[] {
  return waits.rows.filter(
    (row) =>
      kinds.includes(row.kind) && (process === undefined || row.process === process) && (location === undefined || row.location === location),
  );
}

/** For each process that waits or is waited for. */
export function waiters(rows: readonly WaitRow[]): Waiter[] {
  const found = new Map<number, Waiter>();
  const of = (process: number): Waiter => {
    let waiter = found.get(process);
    if (!waiter) found.set(process, (waiter = { process, waited: 0, caused: 0, count: 0 }));
    return waiter;
  };
  for (const row of rows) {
    const waiter = of(row.process);
    waiter.waited += row.time;
    waiter.count += row.count;
    if (row.on !== null) of(row.on).caused += row.time;
  }
  return [...found.values()].sort((a, b) => a.process - b.process);
}
